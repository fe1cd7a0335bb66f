package import Bytes
package import Posix

/// Why the kernel could not be asked.
package enum NetlinkError: Error, Hashable, Sendable {
    /// A system call failed.
    case call(Errno)
    /// No answer within the deadline.
    case timedOut
    /// The answer cannot be read.
    case malformed
}

extension NetlinkError: CustomStringConvertible {
    /// What the operator reads.
    package var description: String {
        switch self {
        case .call(let errno): "\(errno)"
        case .timedOut: "the kernel did not answer in time"
        case .malformed: "the kernel's answer cannot be read"
        }
    }
}

/// What the kernel knows of routes and links, asked anew each time.
package protocol RoutingInformation: AnyObject {
    /// The route to an address: as it would be taken, or, `matching`, the table's entry behind it.
    ///
    /// The one taken has the source address, the entry has the flag for a link without carrier.
    func route(to address: IPAddress, matching: Bool) throws(NetlinkError) -> RouteAnswer

    /// The link of that index; nil where there is none.
    func link(_ index: UInt32) throws(NetlinkError) -> LinkInfo?

    /// All links of this network namespace; where they change all the time, some may be left out, or old.
    func links() throws(NetlinkError) -> [LinkInfo]

    /// What sysfs says of a link.
    func facts(of link: LinkInfo) -> LinkFacts
}

package import Bytes

/// Asks the kernel for routes and links, one question at a time, each for 200 ms at most.
package final class QuerySocket: RoutingInformation {
    private let channel: any NetlinkChannel

    /// Asks over `channel`, whose receives have a deadline.
    package init(_ channel: any NetlinkChannel) { self.channel = channel }

    package func route(to address: IPAddress, matching: Bool) throws(NetlinkError) -> RouteAnswer {
        throw .malformed
    }
    package func link(_ index: UInt32) throws(NetlinkError) -> LinkInfo? { throw .malformed }
    package func links() throws(NetlinkError) -> [LinkInfo] { throw .malformed }
    package func facts(of link: LinkInfo) -> LinkFacts { LinkFacts.read(link) }
}

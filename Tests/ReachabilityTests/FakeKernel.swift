import Bytes
import Netlink
import Reachability

/// Routes and links as a test lays them out.
final class FakeKernel: RoutingInformation {
    /// What is answered for an address: the table's entry, the route taken.
    var routes: [IPAddress: (entry: RouteAnswer, taken: RouteAnswer)] = [:]
    var allLinks: [LinkInfo] = []
    var sysfs: [String: LinkFacts] = [:]

    func route(to address: IPAddress, matching: Bool) throws(NetlinkError) -> RouteAnswer {
        guard let known = routes[address] else { return .refused(.noRoute) }
        return matching ? known.entry : known.taken
    }

    func link(_ index: UInt32) throws(NetlinkError) -> LinkInfo? { allLinks.first { $0.index == index } }
    func links() throws(NetlinkError) -> [LinkInfo] { allLinks }
    func facts(of link: LinkInfo) -> LinkFacts { sysfs[link.name] ?? LinkFacts() }
}

func ip(_ text: String) -> IPAddress {
    guard let address = IPAddress(text: text) else { preconditionFailure("\(text) is no address") }
    return address
}

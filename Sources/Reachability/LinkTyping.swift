internal import Netlink

/// An owner's word on the type of links whose name matches: `wwan*` is `cellular`.
package struct LinkTypeRule: Hashable, Sendable {
    /// `*` stands for any run of characters, `?` for one.
    package let pattern: String
    package let type: ConnectionType

    package init(pattern: String, type: ConnectionType) {
        self.pattern = pattern
        self.type = type
    }

    /// True where the pattern stands for the whole name.
    package func matches(_ name: String) -> Bool {
        let pattern = Array(pattern.utf8)
        let name = Array(name.utf8)
        var (at, within) = (0, 0)
        var retry: (at: Int, within: Int)?
        while within < name.count {
            if at < pattern.count, pattern[at] == UInt8(ascii: "*") {
                retry = (at + 1, within)
                at += 1
            } else if at < pattern.count, pattern[at] == UInt8(ascii: "?") || pattern[at] == name[within] {
                at += 1
                within += 1
            } else if let last = retry {
                retry = (last.at, last.within + 1)
                (at, within) = (last.at, last.within + 1)
            } else {
                return false
            }
        }
        return pattern[at...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}

/// Tells the type of a link: by the owner's rules, by its kind, by sysfs, by its hardware, by its name.
struct LinkTyping {
    private static let depthMaximum = 4
    private static let loopback: UInt16 = 772
    private static let ethernet: UInt16 = 1
    private static let rawIP: UInt16 = 519

    private let kernel: any RoutingInformation
    private let rules: [LinkTypeRule]
    private var allLinks: [LinkInfo]?

    init(asking kernel: any RoutingInformation, rules: [LinkTypeRule]) {
        self.kernel = kernel
        self.rules = rules
    }

    mutating func type(of link: LinkInfo) throws(NetlinkError) -> ConnectionType {
        try type(of: link, depth: 0)
    }

    private mutating func type(of link: LinkInfo, depth: Int) throws(NetlinkError) -> ConnectionType {
        if let rule = rules.first(where: { $0.matches(link.name) }) { return rule.type }
        guard depth < Self.depthMaximum else { return .unknown }
        switch link.kind {
        case "wireguard", "ipip", "ip6tnl", "gre", "ip6gre", "sit", "vti", "vti6", "xfrm": return .vpn
        case "tun" where link.hardwareType != Self.ethernet: return .vpn
        case "wwan", "rmnet": return .cellular
        case "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec":
            guard let lower = link.lower, let below = try kernel.link(lower) else { return .ethernet }
            return try type(of: below, depth: depth + 1)
        case "bridge", "bond", "team":
            guard let port = try livePort(of: link) else { return .ethernet }
            return try type(of: port, depth: depth + 1)
        case .some where link.hardwareType == Self.ethernet: return .ethernet
        default: return byHardware(link)
        }
    }

    private mutating func livePort(of link: LinkInfo) throws(NetlinkError) -> LinkInfo? {
        if allLinks == nil { allLinks = try kernel.links() }
        return allLinks?.first { $0.master == link.index && $0.isUsable }
    }

    private func byHardware(_ link: LinkInfo) -> ConnectionType {
        if link.hardwareType == Self.loopback { return .loopback }
        let facts = kernel.facts(of: link)
        let isCellularName = ["wwan", "rmnet", "ccmni"].contains { link.name.hasPrefix($0) }
        switch facts.deviceType {
        case "wlan": return .wifi
        case "wwan": return .cellular
        case "bluetooth": return .bluetooth
        default: break
        }
        if facts.hasRadio { return .wifi }
        if isCellularName || link.hardwareType == Self.rawIP { return .cellular }
        return link.hardwareType == Self.ethernet && link.parentBus != nil ? .ethernet : .unknown
    }
}

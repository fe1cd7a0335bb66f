package import Bytes
package import Netlink

extension PathVerdict {
    private static let addressesMaximum = 16

    /// Asked for where no address of a destination is known: of the documentation networks (RFC 5737, RFC 3849).
    package static let defaultRouteAddresses = ["192.0.2.1", "2001:db8::1"].compactMap { IPAddress(text: $0) }

    /// Asks for the way to each of `addresses`, at most 16 of them, and for the types of the links.
    package init(
        to addresses: [IPAddress], asking kernel: any RoutingInformation, rules: [LinkTypeRule] = []
    ) throws(NetlinkError) {
        var typing = LinkTyping(asking: kernel, rules: rules)
        var candidates: [Candidate] = []
        var farthest: Refusal?
        for address in addresses.prefix(Self.addressesMaximum) {
            switch try Self.way(to: address, asking: kernel, &typing) {
            case .candidate(let candidate): candidates.append(candidate)
            case .refusal(let refusal):
                if refusal.rank > farthest?.rank ?? -1 { farthest = refusal }
            }
        }
        if candidates.isEmpty {
            self = .none(farthest?.reason ?? .noRoute, detail: farthest?.detail ?? "no address")
        } else {
            self = .usable(candidates)
        }
    }

    private enum Way {
        case candidate(Candidate)
        case refusal(Refusal)
    }

    private struct Refusal {
        let reason: StateReason
        let detail: String

        /// Of several addresses, that one's reason is told which came the farthest.
        var rank: Int {
            switch reason {
            case .link: 4
            case .address: 3
            case .prohibited: 2
            case .blackhole: 1
            default: 0
            }
        }
    }

    private static func way(
        to address: IPAddress, asking kernel: any RoutingInformation, _ typing: inout LinkTyping
    ) throws(NetlinkError) -> Way {
        let entry: Route
        switch try kernel.route(to: address, matching: true) {
        case .refused(let refusal): return .refusal(explain(refusal, address))
        case .route(let route): entry = route
        }
        if let refusal = refusal(of: entry, address) { return .refusal(refusal) }
        let taken: Route
        switch try kernel.route(to: address, matching: false) {
        case .refused(let refusal): return .refusal(explain(refusal, address))
        case .route(let route): taken = route
        }
        if let refusal = refusal(of: taken, address) { return .refusal(refusal) }
        let isLocal = entry.kind == .local || taken.kind == .local
        guard let link = try kernel.link(taken.interface) else {
            return .refusal(Refusal(reason: .link, detail: "link \(taken.interface) is gone"))
        }
        if !isLocal, !link.isUsable { return .refusal(Refusal(reason: .link, detail: "\(link.name) is not up")) }
        if !isLocal, let source = taken.source, source.isLinkLocal, !address.isLinkLocal {
            return .refusal(Refusal(reason: .address, detail: "\(link.name) has no address for \(address) yet"))
        }
        return .candidate(
            Candidate(
                address: address,
                path: Path(
                    interface: taken.interface, gateway: taken.gateway, source: taken.source, isLocal: isLocal),
                interfaceName: link.name,
                connectionType: try typing.type(of: link),
                carrierChanges: link.carrierChanges,
                expiresAfter: [entry.expiresAfter, taken.expiresAfter].compactMap { $0 }.min()))
    }

    private static func refusal(of route: Route, _ address: IPAddress) -> Refusal? {
        switch route.kind {
        case .local: nil
        case .unicast: route.isLinkDown ? Refusal(reason: .link, detail: "no carrier on the way to \(address)") : nil
        case .blackhole: explain(.blackhole, address)
        case .unreachable: explain(.unreachable, address)
        case .prohibit: explain(.prohibited, address)
        case .throw: explain(.noRoute, address)
        case .other: Refusal(reason: .address, detail: "\(address) is not the address of one host")
        }
    }

    private static func explain(_ refusal: RouteRefusal, _ address: IPAddress) -> Refusal {
        switch refusal {
        case .noRoute: Refusal(reason: .noRoute, detail: "no route to \(address)")
        case .unreachable: Refusal(reason: .noRoute, detail: "an unreachable route to \(address)")
        case .prohibited: Refusal(reason: .prohibited, detail: "a prohibiting route to \(address)")
        case .blackhole: Refusal(reason: .blackhole, detail: "a blackhole route to \(address)")
        case .other(let number): Refusal(reason: .noRoute, detail: "no route to \(address), error \(number)")
        }
    }
}

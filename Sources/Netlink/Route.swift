package import Bytes

/// What the kernel answered to a question for a route.
package enum RouteAnswer: Hashable, Sendable {
    case route(Route)
    case refused(RouteRefusal)
}

/// Why the kernel gives no route, by the error that connect(2) would also give.
package enum RouteRefusal: Hashable, Sendable {
    /// ENETUNREACH: there is none.
    case noRoute
    /// EHOSTUNREACH: a route of type unreachable.
    case unreachable
    /// EACCES: a route of type prohibit.
    case prohibited
    /// EINVAL: a route of type blackhole.
    case blackhole
    /// Another error number.
    case other(Int32)
}

/// A route (rtnetlink(7), RTM_NEWROUTE).
package struct Route: Hashable, Sendable {
    /// What becomes of packets.
    package enum Kind: Hashable, Sendable {
        case unicast, local, blackhole, unreachable, prohibit, `throw`
        case other(UInt8)
    }

    package let kind: Kind
    package let table: UInt32
    /// Index of the link it leaves by; 0 where the entry names several, or none.
    package let interface: UInt32
    package let gateway: IPAddress?
    /// The source address that would be used.
    package let source: IPAddress?
    /// True where every link it could leave by is dead or without carrier.
    package let isLinkDown: Bool
    package let nexthopID: UInt32?
    /// How long it is still valid; nil without end.
    package let expiresAfter: Duration?

    package init(
        kind: Kind, table: UInt32 = 254, interface: UInt32, gateway: IPAddress? = nil, source: IPAddress? = nil,
        isLinkDown: Bool = false, nexthopID: UInt32? = nil, expiresAfter: Duration? = nil
    ) {
        self.kind = kind
        self.table = table
        self.interface = interface
        self.gateway = gateway
        self.source = source
        self.isLinkDown = isLinkDown
        self.nexthopID = nexthopID
        self.expiresAfter = expiresAfter
    }
}

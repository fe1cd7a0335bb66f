package import Bytes

/// By which way packets leave; equal where nothing changed that a connection would notice.
package struct Path: Hashable, Sendable {
    /// Index of the link; 0 where it is not known.
    package let interface: UInt32
    package let gateway: IPAddress?
    package let source: IPAddress?
    /// True for an address of this machine, where the state of links does not matter.
    package let isLocal: Bool

    package init(interface: UInt32, gateway: IPAddress? = nil, source: IPAddress? = nil, isLocal: Bool = false) {
        self.interface = interface
        self.gateway = gateway
        self.source = source
        self.isLocal = isLocal
    }
}

/// An address of a destination to which a path is there; only an answer proves more.
package struct Candidate: Hashable, Sendable {
    /// Nil for a Unix socket, and where the kernel cannot be asked.
    package let address: IPAddress?
    package let path: Path
    /// Name of the link, for people.
    package let interfaceName: String
    package let connectionType: ConnectionType
    /// How often the link's carrier came or went.
    package let carrierChanges: UInt32
    /// How long the route is still valid; nil without end.
    package let expiresAfter: Duration?

    package init(
        address: IPAddress?, path: Path, interfaceName: String, connectionType: ConnectionType,
        carrierChanges: UInt32 = 0, expiresAfter: Duration? = nil
    ) {
        self.address = address
        self.path = path
        self.interfaceName = interfaceName
        self.connectionType = connectionType
        self.carrierChanges = carrierChanges
        self.expiresAfter = expiresAfter
    }
}

/// What the kernel says of the way to a destination, over all its addresses.
package enum PathVerdict: Hashable, Sendable {
    /// None of the addresses can be sent to: the most telling reason, and words for people.
    case none(StateReason, detail: String)
    /// These can, in the order in which they are tried; never empty.
    case usable([Candidate])

    /// A Unix socket: always there.
    package static let local = PathVerdict.usable([
        Candidate(
            address: nil, path: Path(interface: 0, isLocal: true), interfaceName: "", connectionType: .loopback)
    ])

    /// Netlink cannot be had: a path is taken for granted, and requests find out.
    package static let unobserved = PathVerdict.usable([
        Candidate(address: nil, path: Path(interface: 0), interfaceName: "", connectionType: .unknown)
    ])
}

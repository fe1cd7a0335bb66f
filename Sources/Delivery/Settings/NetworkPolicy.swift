package import Queue
package import Reachability

/// By which kinds of network a destination may be sent to.
package struct NetworkPolicy: Sendable, Equatable {
    /// For every log without an entry of its own; nil: any.
    package let general: Set<ConnectionType>?
    /// For one lane.
    package let own: [LogName: Set<ConnectionType>]

    package init(general: Set<ConnectionType>? = nil, own: [LogName: Set<ConnectionType>] = [:]) {
        self.general = general
        self.own = own
    }

    /// Every network.
    package static let any = NetworkPolicy()

    /// True where events of that log may leave by such a network.
    func allows(_ log: LogName, by type: ConnectionType) -> Bool {
        types(of: log)?.contains(type) ?? true
    }

    /// The networks by which events of that log may leave; nil: any.
    func types(of log: LogName) -> Set<ConnectionType>? { own[log] ?? general }

    /// True where some log may leave by such a network.
    func allowsAny(by type: ConnectionType) -> Bool {
        general?.contains(type) ?? true || own.values.contains { $0.contains(type) }
    }
}

/// What may leave by the network that there is, and with consent.
package struct Passage: Sendable {
    let policy: NetworkPolicy
    /// Nil: not known yet, and nothing is forbidden.
    let type: ConnectionType?
    /// The logs of categories that are on hold, denied, or being purged.
    let withheld: Set<LogName>

    /// True where events of that log may leave.
    package func allows(_ log: LogName) -> Bool { !withheld.contains(log) && allowsByNetwork(log) }

    /// True where the network that there is does not keep events of that log from leaving.
    func allowsByNetwork(_ log: LogName) -> Bool { type.map { policy.allows(log, by: $0) } ?? true }
}

/// `[Intake]`: the socket that events come in by, and its limits.
package struct IntakeSection: Sendable, Equatable {
    /// An absolute path; ignored where systemd passes the socket.
    package var socket = "/run/uplinkd/events.sock"
    /// Permission bits.
    package var socketMode: UInt32 = 0o660
    /// nil: the group that the daemon runs as.
    package var socketGroup: String?
    package var maximumEventBytes = 256 << 10
    /// At most 4 MiB.
    package var maximumRequestBytes = 1 << 20
    package var maximumConnections = 1_024
    package var maximumConnectionsPerUser = 256
    package var idleTimeout: Duration = .seconds(300)

    /// The defaults.
    package init() {}
}

/// `[Control]`: the socket that operators ask by.
package struct ControlSection: Sendable, Equatable {
    /// An absolute path; ignored where systemd passes the socket.
    package var socket = "/run/uplinkd/control.sock"
    /// Permission bits.
    package var socketMode: UInt32 = 0o660
    /// nil: the group that the daemon runs as.
    package var socketGroup: String?

    /// The defaults.
    package init() {}
}

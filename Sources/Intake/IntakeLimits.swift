package import Queue

/// The bounds that intake keeps.
package struct IntakeLimits: Sendable, Hashable {
    /// Bytes of one event, without white space around it.
    package var maximumEventBytes = 262_144
    /// Bytes of the body of one request, and of one line that is still skipped rather than ends the connection.
    package var maximumRequestBytes = 1_048_576
    /// Events of one request.
    package var maximumRequestEvents = 65_536
    /// What the queue has room for when it is empty.
    package var queueRoom = QueueRoom(QueueOptions())
    package var maximumConnections = 1_024
    package var maximumConnectionsPerUser = 256
    /// Connections over a limit that are told so at one time; more are closed without a word.
    package var maximumTurnedAway = 64
    /// How long a connection may be silent with nothing to wait for.
    package var idleTimeout: Duration = .seconds(300)
    /// How long the head of a request may take, from its first byte.
    package var headTimeout: Duration = .seconds(10)
    /// How long the body of a request may take, from its head.
    package var bodyTimeout: Duration = .seconds(60)
    /// How long input is read and dropped after a last answer, so that the client comes to read it.
    package var lingerTimeout: Duration = .seconds(2)
    /// The same while the daemon stops.
    package var stopLingerTimeout: Duration = .milliseconds(500)
    /// Bytes that all unfinished requests and lines hold together.
    package var unfinishedBytes = 8 * 1_048_576

    package init() {}

    /// The bytes of a line that are kept while its end is looked for: an event and some white space.
    var lineBytes: Int { maximumEventBytes + 4_096 }
}

/// A reason not to send now; the raw values stand on disk.
package enum Gate: UInt8, Sendable, CaseIterable {
    /// The destination is not reachable.
    case connectivity = 1
    /// Consent for the category is withheld.
    case consent = 2
    /// The network's type is not allowed for it.
    case policy = 3
    /// It is held, or asked for time.
    case destination = 4
    /// An operator paused it.
    case paused = 5
    /// Its cursor cannot be made durable.
    case storage = 6
    /// The event waited through a restart of the daemon.
    case restart = 7

    /// The value of `queue_reason`.
    package var name: String { "\(self)" }
}

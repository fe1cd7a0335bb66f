internal import Posix
internal import Queue
internal import Time

/// The queue's age clock: the boot clock summed over the daemon's runs, in milliseconds.
struct AgeClock {
    private let origin: UInt64
    private let began: Instant

    /// Goes on from the newest batch that recovery found.
    init(restoring recovery: RecoveryReport) {
        began = Clock.now
        origin = recovery.age(at: Self.wall)
    }

    func milliseconds(at now: Instant) -> UInt64 { origin + UInt64(max(0, (now - began).milliseconds)) }

    /// The wall clock; nil while it is not synchronised.
    static var wall: WallTime? { Clock.isSynchronised ? Clock.wall : nil }
}

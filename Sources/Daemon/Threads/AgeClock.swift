internal import Posix
internal import Queue
internal import Time

/// The queue's age clock: the boot clock summed over the daemon's runs, in milliseconds.
///
/// Time while the daemon did not run counts by the wall clock, but only where that is synchronised and did not go back:
/// an event may be thought younger than it is, never older.
struct AgeClock {
    private let origin: UInt64
    private let began: Instant

    /// Goes on from the newest batch that recovery found.
    init(restoring recovery: RecoveryReport) {
        began = Clock.now
        var origin = recovery.age
        if let last = recovery.lastCommit, Clock.isSynchronised, Clock.wall > last {
            origin += UInt64(Clock.wall.milliseconds - last.milliseconds)
        }
        self.origin = origin
    }

    func milliseconds(at now: Instant) -> UInt64 { origin + UInt64(max(0, (now - began).milliseconds)) }
}

internal import Posix
internal import Queue
internal import Reactor
internal import SystemdService
internal import Time

/// The wall clock for `accepted_at`; asks the kernel at most once a second whether it is synchronised, and sees whether
/// it was set.
final class SynchronisedClock {
    private let loop: EventLoop
    private var isSynchronised = Clock.isSynchronised
    private var asked: Instant
    private let log: LogThread
    private var last = ClockRecord(age: 0, AgeClock.reading)
    private let wasSet: () -> Void

    /// Calls `wasSet` once the clock was set or its being synchronised has changed.
    init(_ loop: EventLoop, _ log: LogThread, wasSet: @escaping () -> Void) {
        self.loop = loop
        self.log = log
        self.wasSet = wasSet
        asked = loop.now
        if !isSynchronised { log.log(.clock(isSynchronised: false)) }
    }

    /// Now; nil while the clock is not synchronised.
    var time: WallTime? {
        look()
        return isSynchronised ? Clock.wall : nil
    }

    /// Sees how the clock is, if it did not a second ago.
    func look() {
        guard loop.now - asked >= .seconds(1) else { return }
        asked = loop.now
        let reading = AgeClock.reading
        if last.isOutdated(at: reading) {
            last = ClockRecord(age: 0, reading)
            wasSet()
        }
        guard (reading.wall != nil) != isSynchronised else { return }
        isSynchronised = reading.wall != nil
        log.log(.clock(isSynchronised: isSynchronised))
    }
}

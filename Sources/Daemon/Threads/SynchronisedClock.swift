internal import Posix
internal import Reactor
internal import SystemdService
internal import Time

/// The wall clock for `accepted_at`; asks the kernel at most once a second whether it is synchronised.
final class SynchronisedClock {
    private let loop: EventLoop
    private var isSynchronised = Clock.isSynchronised
    private var asked: Instant
    private let log: LogThread

    init(_ loop: EventLoop, _ log: LogThread) {
        self.loop = loop
        self.log = log
        asked = loop.now
        if !isSynchronised { log.log(.clock(isSynchronised: false)) }
    }

    /// Now; nil while the clock is not synchronised.
    var time: WallTime? {
        if loop.now - asked >= .seconds(1) {
            asked = loop.now
            let before = isSynchronised
            isSynchronised = Clock.isSynchronised
            if isSynchronised != before { log.log(.clock(isSynchronised: isSynchronised)) }
        }
        return isSynchronised ? Clock.wall : nil
    }
}

internal import Posix
internal import Reactor
internal import Time

/// The wall clock for `accepted_at`; asks the kernel at most once a second whether it is synchronised.
final class SynchronisedClock {
    private let loop: EventLoop
    private var isSynchronised = Clock.isSynchronised
    private var asked: Instant

    init(_ loop: EventLoop) {
        self.loop = loop
        asked = loop.now
    }

    /// Now; nil while the clock is not synchronised.
    var time: WallTime? {
        if loop.now - asked >= .seconds(1) {
            asked = loop.now
            isSynchronised = Clock.isSynchronised
        }
        return isSynchronised ? Clock.wall : nil
    }
}

internal import Posix
internal import Time

/// Since when the disk's thread has been in the work at hand; looked at from the loop's thread.
final class DiskPulse: Sendable {
    private let began = Lock<Instant?>(nil)

    /// How long the work at hand has taken; zero where there is none.
    func age(at now: Instant) -> Duration {
        let since = began.with { $0 }
        return since.map { now - $0 } ?? .zero
    }

    func begin() { began.with { $0 = Clock.now } }
    func end() { began.with { $0 = nil } }
}

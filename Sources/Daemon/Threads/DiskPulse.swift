internal import Posix
internal import Time

/// Since when the disk's thread has been in the work at hand; looked at from the loop's thread.
final class DiskPulse: Sendable {
    /// Work older than this stops the watchdog: nothing but a new process may help.
    private static let patience = Duration.seconds(300)
    /// Work older than this is told of.
    private static let slowness = Duration.seconds(1)

    private let began = Lock<Instant?>(nil)
    private let read = Lock<Int>(0)

    /// What was read from the queue's files so far.
    var bytesRead: Int { read.with { $0 } }

    /// How long the work at hand has taken; zero where there is none.
    func age(at now: Instant) -> Duration {
        let since = began.with { $0 }
        return since.map { now - $0 } ?? .zero
    }

    /// False where the disk's thread is given up.
    func isAlive(at now: Instant) -> Bool { age(at: now) < Self.patience }

    /// What status says of work that takes long; nil where there is none.
    func slowness(at now: Instant) -> String? {
        let age = age(at: now)
        return age > Self.slowness ? "the disk has not answered for \(age.milliseconds / 1_000) s" : nil
    }

    func begin(at now: Instant = Clock.now) { began.with { $0 = now } }
    func addRead(_ bytes: Int) { read.with { $0 += bytes } }
    func end() { began.with { $0 = nil } }
}

import Posix
import Testing

struct LockTests {
    /// As for a waiter that something held up until after what it was to wait for was due.
    @Test func aWaitWhoseTimeIsOverLongAgoEnds() throws {
        let lock = Lock(false)
        let ended = Semaphore()
        _ = try Thread(name: "waiter") {
            // With whatever the clock shows, one of them crosses a second.
            for late in [1, 999, 1_999] { lock.wait(until: { $0 }, atMost: .milliseconds(-late)) { _ in } }
            ended.signal()
        }
        #expect(ended.wait(atMost: .seconds(20)))
    }
}

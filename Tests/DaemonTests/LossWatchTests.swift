import SystemdService
import Testing
import Time

@testable import Daemon
@testable import Queue

/// Losses are told of at once when they begin, then once a minute.
struct LossWatchTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func snapshot(_ cursors: [(name: String, expired: UInt64, evicted: UInt64)]) -> QueueSnapshot {
        let described = cursors.map { cursor in
            var ledger = Ledger()
            (ledger.expired, ledger.evicted) = (cursor.expired, cursor.evicted)
            return QueueSnapshot.Cursor(
                destination: cursor.name, log: .normal, low: 1, origin: 0, ledger: ledger, queued: 0, isRemoved: false)
        }
        return QueueSnapshot(
            logs: [], cursors: described, bytes: 0, limit: 1, bound: 1, storage: .good, lastError: nil,
            cursorsFailing: false, lastSyncMicroseconds: 0)
    }

    @Test func whatWasLostBeforeTheStartIsNotToldAgain() {
        var watch = LossWatch(snapshot([("a", 5, 5)]))
        let (notices, next) = watch.take(snapshot([("a", 5, 5)]), at: start)
        #expect(notices.isEmpty && next == nil)
    }

    @Test func aNewNameIsToldOnlyOfNewLosses() {
        var watch = LossWatch(snapshot([]))
        _ = watch.take(snapshot([("second", 3, 1), ("a", 0, 0)]), at: start)
        watch.rename("second", to: "third")
        var told = watch.take(snapshot([("third", 3, 1), ("a", 0, 0)]), at: start + .seconds(61))
        #expect(told.notices.isEmpty && told.next == nil)
        told = watch.take(snapshot([("third", 5, 1), ("a", 0, 0)]), at: start + .seconds(62))
        #expect(told.notices == [.eventsExpired(2, log: "normal", destination: "third")])
    }

    @Test func theFirstIsToldAtOnceAndTheRestOnceAMinute() {
        var watch = LossWatch(snapshot([]))
        var told = watch.take(snapshot([("a", 3, 0), ("b", 0, 0)]), at: start)
        #expect(told.notices == [.eventsExpired(3, log: "normal", destination: "a")] && told.next == nil)
        told = watch.take(snapshot([("a", 5, 0), ("b", 0, 7)]), at: start + .seconds(1))
        #expect(told.notices == [.eventsEvicted(7, log: "normal", destination: "b")])
        #expect(told.next == start + .seconds(60))
        told = watch.take(snapshot([("a", 9, 2), ("b", 0, 7)]), at: start + .seconds(60))
        #expect(
            told.notices == [
                .eventsExpired(6, log: "normal", destination: "a"), .eventsEvicted(2, log: "normal", destination: "a"),
            ])
        #expect(told.next == nil)
        told = watch.take(snapshot([("a", 9, 2), ("b", 0, 8)]), at: start + .seconds(1_000))
        #expect(told.notices == [.eventsEvicted(1, log: "normal", destination: "b")])
    }
}

import Daemon
import Testing
import Time

/// For how long there is room at the rate of the last day.
struct RoomEstimateTests {
    private let start = Instant(nanoseconds: 5_000_000_000)
    private let maximum: UInt64 = 100_000_000

    private func instant(_ minutes: Int) -> Instant { start + .seconds(60 * minutes) }

    @Test func nothingIsSaidBeforeTenMinutesOrWhereNothingCame() {
        var estimate = RoomEstimate(at: start)
        estimate.take(written: 1_000, at: instant(9))
        #expect(estimate.room(written: 1_000, bytes: 0, of: maximum, at: instant(9)) == nil)
        #expect(estimate.room(written: 0, bytes: 0, of: maximum, at: instant(600)) == nil)
        // 1,000 bytes in 10 minutes; 95,000,000 may be taken.
        let room = estimate.room(written: 1_000, bytes: 0, of: maximum, at: instant(10))
        #expect(room == .seconds(95_000 * 600))
    }

    @Test func whatIsTakenAlreadyIsNoRoom() {
        let estimate = RoomEstimate(at: start)
        #expect(estimate.room(written: 1_000_000, bytes: 94_000_000, of: maximum, at: instant(10)) == .seconds(600))
        #expect(estimate.room(written: 1_000_000, bytes: 96_000_000, of: maximum, at: instant(10)) == .zero)
    }

    @Test func onlyTheLastDayCounts() {
        var estimate = RoomEstimate(at: start)
        // A day of a megabyte a minute, then one of a kilobyte a minute.
        for minute in 1...1_440 { estimate.take(written: UInt64(minute) * 1_000_000, at: instant(minute)) }
        for minute in 1...1_500 {
            estimate.take(written: 1_440_000_000 + UInt64(minute) * 1_000, at: instant(1_440 + minute))
        }
        let room = estimate.room(written: 1_441_500_000, bytes: 0, of: maximum, at: instant(2_940))
        #expect(room == .seconds(95_000 * 60))
    }

    @Test func aPauseOfDaysIsNotForgotten() {
        var estimate = RoomEstimate(at: start)
        estimate.take(written: 1_000_000, at: instant(600))
        #expect(estimate.room(written: 1_000_000, bytes: 0, of: maximum, at: instant(6_000)) == nil)
    }
}

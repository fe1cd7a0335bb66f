import Queue
import Testing
import Time

/// The age clock over restarts: time off counts only where the wall clock can be trusted.
struct AgeClockTests {
    /// The wall time of the last commit and of the start after it, nil while not synchronised, and the age then.
    private struct Case: Sendable {
        let before: Int64?
        let after: Int64?
        let age: UInt64
    }

    private static let start: Int64 = 1_700_000_000_000
    private static let day: Int64 = 86_400_000
    private static let cases: [Case] = [
        Case(before: start, after: start + 5_000, age: 25_000),
        Case(before: start, after: start + day, age: 86_420_000),
        Case(before: start, after: start, age: 20_000),
        Case(before: start, after: start - 1, age: 20_000),
        Case(before: start, after: start - 7_300 * day, age: 20_000),
        Case(before: start, after: nil, age: 20_000),
        Case(before: nil, after: start, age: 20_000),
        Case(before: nil, after: nil, age: 20_000),
    ]

    @Test func timeOffCountsOnlyWhereBothEndsAreSynchronised() {
        for each in Self.cases {
            var report = RecoveryReport()
            let before = WallTime(milliseconds: each.before ?? RecordLayout.noWallTime)
            report.resume(age: 20_000, lastCommit: before)
            #expect(report.age(at: each.after.map { WallTime(milliseconds: $0) }) == each.age, "\(each)")
        }
    }

    @Test func aNewQueueBeginsAtZero() {
        #expect(RecoveryReport().age(at: WallTime(milliseconds: Self.start)) == 0)
    }
}

import SystemdService
import Testing

@testable import Daemon
@testable import Queue

struct FillLevelTests {
    private func snapshot(_ percent: UInt64) -> QueueSnapshot {
        QueueSnapshot(
            logs: [], cursors: [], bytes: percent * 1_000, limit: 100_000, bound: 100_000, storage: .good,
            lastError: nil, cursorsFailing: false, lastSyncMicroseconds: 0)
    }

    /// The levels that are told while the queue goes through these.
    private func told(_ percents: [UInt64], refusing: [Int: UInt64] = [:]) -> [String] {
        var level = FillLevel()
        var told: [String] = []
        for (index, percent) in percents.enumerated() {
            if let notice = level.take(snapshot(percent)) { told.append(notice.message) }
            if let limit = refusing[index] { level.refused(at: limit * 1_000, of: 100_000) }
        }
        return told.map { String($0.prefix { $0 != ":" }) }
    }

    @Test func eachLevelIsToldOnce() {
        #expect(
            told([10, 50, 51, 80, 79, 96]) == [50, 80, 95].map { "The queue is \($0) % full" })
        #expect(told([10, 96, 97]) == ["The queue is 95 % full"])
        #expect(told([80, 70, 80]) == ["The queue is 80 % full", "The queue is 80 % full"])
    }

    /// A lane that is refused because no more fits below its limit has said so already.
    @Test func aLevelThatWasOvertakenIsNotTold() {
        #expect(told([50, 79, 80, 95], refusing: [1: 80]) == ["The queue is 50 % full", "The queue is 95 % full"])
        #expect(told([79, 95, 96], refusing: [0: 100]) == ["The queue is 50 % full"])
        #expect(
            told([60, 61, 80], refusing: [0: 80]) == ["The queue is 50 % full", "The queue is 80 % full"],
            "a large one did not fit, long before")
    }
}

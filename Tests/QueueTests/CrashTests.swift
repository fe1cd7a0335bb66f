import Bytes
import Posix
import Queue
import Testing
import Time

/// The power goes at any call: whatever was answered is there, in order, and counted.
@Suite struct CrashTests {
    @Test func nothingAcknowledgedIsLost() throws {
        let isThorough = Process.environment("UPLINKD_THOROUGH_TESTS") != nil
        let start = UInt64.random(in: 0...UInt64.max / 2)
        for seed in start..<start + (isThorough ? 3_000 : 15) { try run(seed: seed) }
    }

    private func run(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let storage = MemoryStorage()
        storage.writesHalf = Bool.random(using: &random)
        var options = Bench.smallSegments
        options.segmentBytes = 32_768
        options.firstSegmentBytes = 16_384
        let bench = try Bench(storage, options, destinations: ["a", "b"], seed: seed)
        let logs = [LogName.urgent, .normal]
        for round in 0..<4 {
            var left = Int.random(in: 1...150, using: &random)
            let stops = Bool.random(using: &random)
            storage.fault = { _ in
                left -= 1
                return left < 0 && (stops || left == -1) ? .io : nil
            }
            for turn in 0..<Int.random(in: 1...15, using: &random) {
                let sizes = (0..<Int.random(in: 1...3, using: &random)).map { _ in Int.random(in: 1...9, using: &random)
                }
                bench.commit(logs[Int.random(in: 0...1, using: &random)], batches: sizes, length: 200)
                let destination = Bool.random(using: &random) ? "a" : "b"
                let log = logs[Int.random(in: 0...1, using: &random)]
                let now = Instant(nanoseconds: Int64(round * 100 + turn) * 700_000_000)
                if Bool.random(using: &random) { _ = try? bench.drain(log, to: destination) }
                _ = bench.queue.housekeep(at: now, age: bench.age)
                if Bool.random(using: &random) { try? bench.queue.synchroniseCursors() }
            }
            storage.fault = nil
            storage.crash(&random)
            try bench.restart(clean: false)
        }
        bench.commit(.urgent)
        bench.commit(.normal)
        for destination in ["a", "b"] {
            for log in logs {
                let low = bench.queue.cursor(destination: destination, log: log)?.low ?? 1
                let rest = try bench.drain(log, to: destination)
                let lost = (bench.accepted[log] ?? [:]).filter { sequence, event in
                    sequence >= low && rest.events[sequence] != event
                }
                #expect(lost.isEmpty, "seed \(seed): \(destination) did not get \(lost.keys.sorted()) of \(log)")
                // A cursor never passes what its destination was not given.
                let missed = (bench.accepted[log] ?? [:]).filter { sequence, event in
                    sequence < low && bench.given[destination]?[log]?[sequence] != event
                }
                #expect(missed.isEmpty, "seed \(seed): \(destination) never got \(missed.keys.sorted()) of \(log)")
            }
        }
        #expect(bench.queue.recovery.cursorsReset.isEmpty, "seed \(seed)")
    }
}

import Bytes
import Posix
import Queue
import Testing
import Time

/// Commits and reads 300-byte events; with a release build and `UPLINKD_MEASURE=millions` so many, saying how long.
@Suite struct ThroughputTests {
    private static let millions = Process.environment("UPLINKD_MEASURE").flatMap { Int($0) }

    @Test func commitsAndReads() throws {
        let folder = try Folder()
        let bench = try Bench(
            FileStorage(directory: folder.path), QueueOptions(maximumBytes: 8 << 30, keepFree: .percent(0)))
        let events = Self.millions.map { $0 * 1_000_000 } ?? 5_000
        let perCommit = 1_000
        let event = bench.event(300)
        var batches = [OpenBatch(log: .normal, context: Bench.context)]
        var writing: Int64 = 0
        for _ in 0..<events / perCommit {
            batches[0].reuse(log: .normal, context: Bench.context)
            for _ in 0..<perCommit { _ = batches[0].append(event.span, acceptedAt: WallTime(milliseconds: 1)) }
            let start = Clock.monotonicNanoseconds
            _ = bench.queue.commit(&batches, at: WallTime(milliseconds: 1), age: 1)
            writing += Clock.monotonicNanoseconds - start
            _ = bench.queue.housekeep(at: Clock.now, age: 0)
        }
        var sequence: UInt64 = 1
        let start = Clock.monotonicNanoseconds
        while let chunk = try bench.queue.read(.normal, for: "main", from: sequence, limit: 256 * 1_024, age: 0) {
            #expect(chunk.disposed.isEmpty)
            sequence = chunk.sequences.upperBound + 1
        }
        #expect(sequence == UInt64(events) + 1)
        guard Self.millions != nil else { return }
        let reading = Clock.monotonicNanoseconds - start
        let text = "commit \(writing / Int64(events)) ns, read \(reading / Int64(events)) ns an event\n"
        _ = try FileDescriptor.open("/dev/stderr", [.readWrite]).write(Array(text.utf8), in: 0..<text.utf8.count)
    }
}

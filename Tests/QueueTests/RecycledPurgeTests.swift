import Bytes
import Posix
import Queue
import Testing
import Time

/// An event that is purged is in no file any more, also where a file was another segment before, or is left out.
@Suite struct RecycledPurgeTests {
    /// A segment that had its name and nothing else when the daemon died: no header says how far it goes.
    @Test func whatASegmentWasBeforeIsGoneWhereNothingWasWrittenInIt() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<150 { bench.commit(batches: [1]) }
        let ids = try bench.drain().ids
        bench.housekeep()
        let spare = try #require(storage.files["logs/normal/spare"])
        let (old, event) = try #require((bench.accepted[.normal] ?? [:]).first { spare.bytes.holds($0.value) })
        let id = try #require(ids[old])
        let kept = bench.accepted[.normal] ?? [:]

        var isDead = false
        storage.fault = { call in
            if isDead { return .io }
            if case .rename("logs/normal/spare", _) = call { isDead = true }
            return nil
        }
        for _ in 0..<200 where !isDead { bench.commit(batches: [1]) }
        #expect(isDead)
        storage.fault = nil
        try bench.restart(clean: false)
        for _ in 0..<2 {
            bench.commit(batches: [1])
            try bench.restart(clean: false)
        }
        #expect(storage.files.contains { $0.key.hasSuffix(".segment") && $0.value.bytes.holds(event) })

        #expect(try bench.queue.purge(id: id) == 0, "it was delivered")

        #expect(storage.files.filter { $0.value.bytes.holds(event) }.keys.sorted() == [])
        let new = (bench.accepted[.normal] ?? [:]).filter { kept[$0.key] == nil }
        #expect(try bench.drain().events.keys.sorted().suffix(2) == new.keys.sorted().suffix(2))
        bench.checkSums()
    }
    /// What a start could not read the next one may have back.
    @Test func noReceiptIsGivenWhileASegmentIsLeftOut() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        try bench.restart(clean: false)
        bench.commit(batches: [1])
        let path = try bench.onlySegment
        let event = try #require(bench.accepted[.normal]?[2])
        #expect(try storage.names(in: "logs/normal").count >= 2 && storage.files[path]?.bytes.holds(event) == true)
        let chunk = try #require(try bench.queue.read(.normal, for: "main", from: 1, limit: 4_096, age: bench.age))
        let id = EventID(epoch: chunk.epoch, sequence: 2)
        storage.fault = { call in
            if case .read(path, _) = call { .io } else { nil }
        }
        try bench.restart(clean: false)
        for second in 0..<30 as Range<Int64> { bench.housekeep(from: second * 1_000_000_000) }
        #expect(bench.queue.snapshot.logs.first { $0.name == .normal }?.accepted == 3)
        let error = QueueError.failed(.read, path: storage.root + "/" + path, offset: 0, .io)
        #expect(throws: error) { try bench.queue.purge(id: id) }
        storage.fault = nil
        #expect(throws: error) { try bench.queue.purge(id: id) }
        try bench.restart(clean: false)
        #expect(try bench.queue.purge(id: id) == 1)
        #expect(storage.files.filter { $0.value.bytes.holds(event) }.keys.sorted() == [])
    }
}

import Bytes
import Posix
import Queue
import Testing
import Time

/// An event that is purged is in no file any more, also where a file was another segment before.
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
}

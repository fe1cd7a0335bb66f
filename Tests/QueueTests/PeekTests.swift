import Bytes
import Queue
import Testing
import Time

/// Looking at what is kept changes nothing of it.
struct PeekTests {
    private func epoch(_ outcomes: [CommitOutcome]) throws -> UInt64 {
        guard case .committed(_, let epoch, _, _) = try #require(outcomes.last) else { return 0 }
        return epoch
    }

    @Test func everyEventIsFoundByItsIdAcrossStartsWithThoseThatWaitForIt() throws {
        let bench = try Bench(MemoryStorage(), destinations: ["main", "other"])
        var ids: [EventID] = []
        for start in 1...3 {
            let epoch = try epoch(bench.commit(.normal, batches: [3, 1]))
            ids += (UInt64(start) * 4 - 3...UInt64(start) * 4).map { EventID(epoch: epoch, sequence: $0) }
            if start < 3 { try bench.restart(clean: start == 1) }
        }
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, 1...5)])
        bench.age += 7_000
        for id in ids {
            let event = try #require(try bench.queue.event(id, at: bench.age), "\(id)")
            #expect(event.bytes == bench.accepted[.normal]?[id.sequence] && event.log == .normal)
            #expect(event.destinations == (id.sequence <= 5 ? ["other"] : ["main", "other"]))
            #expect(event.age == .seconds(7) && event.acceptedAt == WallTime(milliseconds: 5_000))
        }
        #expect(bench.queue.oldestEvents(at: bench.age)[.normal]?.id == ids[0])
        #expect(try bench.drain().events.count == 7)
        #expect(try bench.drain(to: "other").events == bench.accepted[.normal])
        #expect(bench.queue.oldestEvents(at: bench.age)[.normal] == nil)
    }

    @Test func theOldestIsTheFirstThatIsNotPurged() throws {
        let bench = try Bench(MemoryStorage(), destinations: ["main", "other"])
        let epoch = try epoch(bench.commit(.normal, batches: [3, 2]))
        let ids = (1...5).map { EventID(epoch: epoch, sequence: $0) }
        for (gone, oldest) in [([0], 1), ([2], 1), ([1], 3), ([3], 4)] {
            #expect(try bench.queue.purge(ids: gone.map { ids[$0] }) == 1)
            #expect(bench.queue.oldestEvents(at: bench.age)[.normal]?.id == ids[oldest])
        }
        #expect(try bench.queue.purge(ids: [ids[4]]) == 1)
        #expect(bench.queue.oldestEvents(at: bench.age)[.normal] == nil)
    }

    @Test func whatIsNotThereIsNoDamage() throws {
        let bench = try Bench(MemoryStorage())
        let epoch = try epoch(bench.commit(.normal, batches: [200, 200, 200]))
        for _ in 0..<20 { bench.commit(.normal, batches: [200]) }
        _ = try bench.drain()
        bench.housekeep()
        let before = bench.queue.snapshot
        for id in [
            EventID(epoch: epoch, sequence: 1), EventID(epoch: epoch ^ 1, sequence: 4_600),
            EventID(epoch: epoch, sequence: 4_601), EventID(epoch: epoch, sequence: .max),
            EventID(epoch: epoch, sequence: 0),
        ] {
            #expect(try bench.queue.event(id, at: bench.age) == nil, "\(id)")
        }
        #expect(bench.queue.takeDamages().isEmpty)
        #expect(bench.queue.snapshot == before)
    }

    @Test func aDamagedEventIsNotShownAndNotCounted() throws {
        let bench = try Bench(MemoryStorage())
        let epoch = try epoch(bench.commit(.normal, batches: [3]))
        try bench.damage(2, of: .normal)
        #expect(try bench.queue.event(EventID(epoch: epoch, sequence: 2), at: bench.age) == nil)
        #expect(bench.queue.takeDamages().isEmpty, "that is the reader's to find")
        #expect(try bench.queue.event(EventID(epoch: epoch, sequence: 3), at: bench.age) != nil)
        #expect(try bench.drain().quarantined == [2])
    }
}

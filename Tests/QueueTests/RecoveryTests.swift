import Bytes
import Posix
import Queue
import Testing
import Time

/// What a start commits again, and what it leaves behind.
@Suite struct RecoveryTests {
    private func segments(_ storage: MemoryStorage) throws -> [String] {
        try storage.names(in: "logs/normal").filter { $0.hasSuffix(".segment") }
    }

    private func erase(_ storage: MemoryStorage, _ path: String, _ range: Range<Int>? = nil) throws {
        let node = try #require(storage.files[path])
        let range = range ?? 4_096..<node.bytes.count
        node.bytes.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count))
    }

    @Test func whatAStartHasCountedStaysCounted() throws {
        let storage = MemoryStorage(physicalBlock: 512)
        let bench = try Bench(storage)
        bench.commit(batches: [1])
        bench.commit(batches: [3], length: 900)
        let old = try bench.onlySegment
        // Of the second batch the header and one record were written, the rest was not.
        let node = try #require(storage.files[old])
        let third = try #require(node.bytes.indices.first { node.bytes[$0...].starts(with: Array("\"n\":3".utf8)) })
        try erase(storage, old, (third / 512 + 1) * 512..<node.bytes.count)
        try bench.restart(clean: false)
        #expect(bench.queue.snapshot.logs.first?.accepted == 2)
        try erase(storage, old, 512..<node.bytes.count)
        try bench.restart(clean: false)
        #expect(bench.queue.snapshot.logs.first?.accepted == 2)
        let delivery = try bench.drain()
        #expect(delivery.events == bench.accepted[.normal]?.filter { $0.key <= 2 })
        #expect(delivery.quarantined.isEmpty)
    }

    @Test(arguments: [1, 2, 3]) func theNewestTwoSyncsAreDurableAgain(later: Int) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [1])
        bench.commit(batches: [2, 1])
        bench.commit(batches: [2])
        let old = try bench.onlySegment
        for _ in 0..<later { try bench.restart(clean: false) }
        // The disk never had what the last two syncs wrote, though it could be read.
        try erase(storage, old, 8_192..<65_536)
        try bench.restart(clean: false)
        let delivery = try bench.drain()
        #expect(delivery.events == bench.accepted[.normal])
        #expect(delivery.quarantined.isEmpty)
    }

    @Test func anEventKeepsItsIdAndItsTimes() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["a", "b", "c"])
        bench.commit(batches: [2])
        let before = try bench.drain(to: "a")
        let old = try bench.onlySegment
        try bench.restart(clean: false)
        bench.commit(batches: [2])
        try erase(storage, old)
        let after = try bench.drain(to: "b", limit: 1)
        #expect(after.ids.filter { $0.key <= 2 } == before.ids)
        #expect(after.events == bench.accepted[.normal])
        #expect(Set(after.ids.values.map(\.epoch)).count == 2)
        #expect(after.contexts == [Bench.context])
        #expect(bench.queue.oldestAge(of: "c", at: bench.age + 5) == 5, "it is as old as it was")
        #expect(try bench.drain(to: "c").ids == after.ids, "chunks end where another start's ids begin")
    }

    /// Starts that are cut off leave copies of the newest events that are not whole, as many as there were of them.
    @Test(arguments: 0...4) func copiesThatAreNotWholeHideNothing(empty: Int) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<2 { bench.commit(batches: [2]) }
        let ids = try [UInt64(3), 4].map { try bench.id($0) }
        for start in 0...empty {
            // The last of them comes as far as the first batch.
            var left = start == empty ? 1 : 0
            storage.fault = { call in
                if case .write(let path, _) = call, path.hasSuffix(".segment") { left -= 1 }
                return left < 0 ? .io : nil
            }
            try bench.restart(clean: false)
            storage.fault = nil
        }
        try bench.restart(clean: false)
        #expect(bench.queue.snapshot.logs.first?.accepted == 4)
        #expect(try bench.queue.purge(id: ids[0]) == 1)
        let event = try #require(bench.accepted[.normal]?[3])
        #expect(!storage.files.contains { $0.value.bytes.holds(event) })
        let delivery = try bench.drain()
        #expect(delivery.events == bench.accepted[.normal]?.filter { $0.key != 3 })
        #expect(delivery.purged == [3] && delivery.quarantined.isEmpty)
        #expect(delivery.ids[4] == ids[1])
    }

    @Test func aRowOfCopiesThatWereCutOffCostsNothing() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [1])
        bench.commit(batches: [1])
        bench.commit(batches: [1])
        let old = try #require(storage.files[try bench.onlySegment])
        var copies: [(path: String, node: MemoryStorage.Node)] = []
        for _ in 0..<4 {
            try bench.restart(clean: false)
            let path = try bench.onlySegment
            copies.append((path, try #require(storage.files[path])))
        }
        // The unlinking of the copies was not durable, nor was what each start wrote, but for the last event.
        for (path, node) in copies {
            storage.files[path] = node
            eraseBatch(node, 0)
        }
        eraseBatch(old, 2)
        try bench.restart(clean: false)
        let delivery = try bench.drain()
        #expect(delivery.events == bench.accepted[.normal])
        #expect(delivery.quarantined.isEmpty)
    }

    @Test func aCopyThatALaterOnePassedOverIsLookedAt() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [1])
        bench.commit(batches: [1])
        bench.commit(batches: [1])
        let old = try bench.onlySegment
        // The first start makes durable what the run before only had in memory; the second one is cut off.
        try bench.restart(clean: false)
        let path = try bench.onlySegment
        let copy = try #require(storage.files[path])
        try erase(storage, old, 8_192..<16_384)
        try bench.restart(clean: false)
        eraseBatch(try #require(storage.files[try bench.onlySegment]), 0)
        storage.files[path] = copy
        try bench.restart(clean: false)
        let delivery = try bench.drain()
        #expect(delivery.events == bench.accepted[.normal])
        #expect(delivery.quarantined.isEmpty)
    }

    @Test func aCopyThatWasCutOffGoesBeforeItsOriginal() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [1])
        bench.commit(batches: [1])
        let old = try bench.onlySegment
        try bench.restart(clean: false)
        let copy = try bench.onlySegment
        eraseBatch(try #require(storage.files[old]), 1)
        eraseBatch(try #require(storage.files[copy]), 0)
        try bench.restart(clean: false)
        #expect(try bench.drain().events == bench.accepted[.normal])
        storage.calls.removeAll()
        bench.housekeep()
        #expect(storage.calls.filter { [.unlink(old), .unlink(copy)].contains($0) } == [.unlink(copy), .unlink(old)])
    }

    /// Has a batch of a page, by its place in a segment, never have come to the disk.
    private func eraseBatch(_ node: MemoryStorage.Node, _ place: Int) {
        let range = (place + 1) * 4_096..<(place + 2) * 4_096
        #expect(node.bytes[range].contains { $0 != 0 })
        node.bytes.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count))
    }

    @Test func startsInARowDoNotPileUp() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<3 { bench.commit(batches: [2]) }
        for _ in 0..<20 { try bench.restart(clean: false) }
        #expect(try segments(storage).count <= 2)
        #expect(try bench.drain().events == bench.accepted[.normal])
        for _ in 0..<20 { try bench.restart(clean: false) }
        #expect(try segments(storage).count <= 2, "what is settled is not committed again")
    }

    /// Retirement does not sync the folder: its cost would be a journal commit for each segment.
    @Test func aRetiredSegmentThatComesBackIsRetiredAgain() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<3 { bench.commit(batches: [120]) }
        for _ in 0..<3 { bench.commit(batches: [120]) }
        let oldest = "logs/normal/" + (try #require(try segments(storage).first))
        let node = try #require(storage.files[oldest])
        let copy = MemoryStorage.Node(oldest, node.bytes)
        _ = try bench.drain()
        bench.housekeep()
        #expect(storage.files[oldest] == nil)
        let left = try segments(storage)
        storage.files[oldest] = copy
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.isEmpty)
        #expect(try bench.drain().events.isEmpty, "nothing is sent twice")
        bench.commit(batches: [1])
        bench.housekeep()
        #expect(storage.files[oldest] == nil)
        #expect(try segments(storage).count <= left.count + 1)
    }

    @Test func aSegmentThatIsGoneDoesNotStopRetirement() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<6 { bench.commit(batches: [120]) }
        let before = try segments(storage)
        #expect(before.count > 3)
        storage.files["logs/normal/" + before[0]] = nil
        _ = try bench.drain()
        bench.housekeep()
        #expect(try segments(storage).count <= 2)
    }

    @Test func aStartOnADiskThatFailsCommitsAgainOnceItDoes() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [2])
        let old = try bench.onlySegment
        storage.fault = { call in
            guard case .synchronise(let path) = call, path.hasPrefix("logs/") else { return nil }
            return .io
        }
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.failures.contains { "\($0)".contains("logs/normal") })
        #expect(bench.queue.snapshot.storage == .failing)
        storage.fault = nil
        bench.housekeep(from: 100_000_000_000)
        #expect(bench.queue.snapshot.storage == .good)
        try erase(storage, old)
        #expect(try bench.drain().events == bench.accepted[.normal])
    }

    @Test func aFullQueueWhoseEventsAreSentTakesEventsAgainAfterAStart() throws {
        let storage = MemoryStorage()
        var options = QueueOptions(maximumBytes: 256 << 10)
        options.firstSegmentBytes = 64 << 10
        let bench = try Bench(storage, options)
        for _ in 0..<100 { bench.commit(batches: [10]) }
        #expect(bench.queue.snapshot.storage == .full)
        for clean in [false, true, false] {
            try bench.restart(clean: clean)
            #expect(try bench.drain().quarantined.isEmpty)
            bench.housekeep()
            guard case .committed? = bench.commit(batches: [10]).first else {
                Issue.record("\(bench.queue.condition)")
                return
            }
            for _ in 0..<100 { bench.commit(batches: [10]) }
        }
        #expect(bench.given["main"]?[.normal]?.count ?? 0 > 100)
    }
}

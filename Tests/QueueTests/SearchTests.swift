import Bytes
import Posix
import Queue
import Testing

/// The first read of a segment, and the age of what waits, cost a few pieces of the file, not all that lies before.
@Suite struct SearchTests {
    private static let batches = 250

    /// A segment of 16 MiB with a batch a block of 64 KiB, 25 of them of each millisecond, read from a new start.
    private func bench(_ storage: MemoryStorage) throws -> Bench {
        var options = Bench.smallSegments
        options.firstSegmentBytes = 16 << 20
        options.segmentBytes = 16 << 20
        let bench = try Bench(storage, options)
        for number in 0..<Self.batches / 25 {
            bench.age = 20_000 + UInt64(number)
            bench.commit(batches: [Int](repeating: 2, count: 25))
        }
        try bench.restart(clean: false)
        return bench
    }

    private func reads(_ storage: MemoryStorage) -> Int {
        storage.calls.count { if case .read(let path, _) = $0 { path.hasSuffix(".segment") } else { false } }
    }

    @Test func theOldestIsFoundWithFewReads() throws {
        let storage = MemoryStorage(physicalBlock: 65_536)
        let bench = try bench(storage)
        var low: UInt64 = 1
        for next in [UInt64(2), 3, 100, 101, 257, 400, 401, 479, 488] {
            bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, low...next - 1)])
            low = next
            storage.calls.removeAll()
            #expect(bench.queue.oldestAge(of: "main", at: 30_000) == 10_000 - (next - 1) / 50, "event \(next)")
            #expect(reads(storage) <= 14, "event \(next)")
            storage.calls.removeAll()
            #expect(bench.queue.oldestAge(of: "main", at: 30_000) == 10_000 - (next - 1) / 50)
            #expect(reads(storage) == 0, "it is remembered")
            let chunk = try bench.queue.read(.normal, for: "main", from: next, limit: 1, age: bench.age)
            #expect(chunk?.records.map(\.sequence) == [next])
        }
        #expect(try bench.drain().events == bench.accepted[.normal]?.filter { $0.key >= low })
    }

    /// A reader that was found by searching goes on where the segment goes on.
    @Test func whatIsCommittedAfterASearchIsRead() throws {
        let storage = MemoryStorage(physicalBlock: 65_536)
        let bench = try bench(storage)
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, 1...490)])
        for _ in 0..<3 {
            let delivery = try bench.drain()
            #expect(delivery.quarantined.isEmpty)
            bench.commit(batches: [1])
        }
        #expect(try bench.drain().quarantined.isEmpty)
    }

    @Test func damageCostsNoMoreThanWithoutASearch() throws {
        let storage = MemoryStorage(physicalBlock: 65_536)
        let bench = try bench(storage)
        let path = try #require(try storage.names(in: "logs/normal").first { $0 != "spare" })
        let node = try #require(storage.files["logs/normal/" + path])
        // Every eleventh batch, both ends and all between, but for the newest two syncs, which the start wrote again.
        let bad = stride(from: 1, to: Self.batches - 53, by: 11)
        for number in bad {
            let start = (number + 1) * 65_536
            node.bytes.replaceSubrange(start..<start + 65_536, with: repeatElement(0xA5, count: 65_536))
        }
        let lost = Set(bad.flatMap { [UInt64(2 * $0 + 1), UInt64(2 * $0 + 2)] })
        var low: UInt64 = 1
        for next in stride(from: UInt64(5), to: 480, by: 19) {
            bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, low...next - 1)])
            low = next
            let chunk = try #require(
                try bench.queue.read(.normal, for: "main", from: next, limit: 1, age: bench.age), "event \(next)")
            let found = chunk.records.first?.sequence
            #expect(found == (next...).first { !lost.contains($0) } || lost.contains(next), "event \(next)")
            let quarantined = chunk.disposed.flatMap { Array($0.sequences) }
            #expect(lost.isSuperset(of: quarantined), "event \(next)")
        }
        let rest = try bench.drain()
        #expect(rest.events == bench.accepted[.normal]?.filter { $0.key >= low && !lost.contains($0.key) })
    }

    /// A batch that a disk has put in another's place costs that one, whatever it makes of the search.
    @Test func aBatchInAnothersPlaceHidesNoOther() throws {
        let storage = MemoryStorage(physicalBlock: 65_536)
        let bench = try bench(storage)
        let path = try #require(try storage.names(in: "logs/normal").first { $0 != "spare" })
        let node = try #require(storage.files["logs/normal/" + path])
        // The first place that is looked at has the batch of events 21 and 22 instead of 251 and 252.
        let batch = node.bytes[11 * 65_536..<12 * 65_536]
        node.bytes.replaceSubrange(126 * 65_536..<127 * 65_536, with: batch)
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, 1...120)])
        let rest = try bench.drain()
        #expect(rest.quarantined == [251, 252])
        #expect(rest.events == bench.accepted[.normal]?.filter { $0.key > 120 && ![251, 252].contains($0.key) })
    }
}

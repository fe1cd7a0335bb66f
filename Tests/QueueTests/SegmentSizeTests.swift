import Bytes
import Posix
import Queue
import Testing
import Time

/// Segments are as long as they should be however large commits are and however fast they come (rule 13).
@Suite struct SegmentSizeTests {
    /// Segments of 4 MiB, the first with room for 1 MiB.
    private static let options = QueueOptions(maximumBytes: 256 << 20, keepFree: .bytes(0))
    private static let loads = [(100, 1, 60_000), (40, 2, 120_000), (16, 3, 250_000)]

    private func segments(of storage: MemoryStorage) -> [Int] {
        storage.files.filter { $0.key.hasPrefix("logs/normal/") && $0.key.hasSuffix(".segment") }
            .map(\.value.bytes.count)
    }

    /// As the disk's thread does it while clients wait: a slice behind every other commit.
    private func commit(_ count: Int, events: Int, of length: Int, to bench: Bench) {
        for number in 0..<count {
            bench.commit(batches: [events], length: length)
            if number % 2 == 1 { _ = bench.queue.housekeep(at: Instant(nanoseconds: 0), age: 0) }
        }
    }

    @Test(arguments: loads)
    func largeCommitsFillSegments(count: Int, events: Int, length: Int) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options)
        commit(count, events: events, of: length, to: bench)
        let full = count * events * length / Self.options.segmentBytes
        #expect(segments(of: storage).count <= full + 2)
        #expect(segments(of: storage).filter { $0 != Self.options.segmentBytes }.count == 1, "the first is short")
        let taken = bench.queue.bytesOnDisk
        let actual = storage.files.keys.compactMap { try? storage.status(of: $0).allocated }.reduce(0, +)
        #expect(taken >= UInt64(actual) && taken < UInt64(actual) + 64 << 10, "MaxSize bounds what du shows")
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.isEmpty)
        #expect(try bench.drain().events == bench.accepted[.normal])
    }

    /// A file system that ends may lose what was written into room that was only taken, though its sync succeeded.
    @Test func roomThatWasTakenAtOnceIsFilledDurablyBeforeItIsUsed() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options)
        for _ in 0..<100 { bench.commit(batches: [1], length: 60_000) }
        let path = try #require(storage.files.keys.first { $0.hasPrefix("logs/normal/0000000000000002") })
        let syncs = storage.calls.count { $0 == .synchronise(path) }
        let writes = storage.calls.count { if case .write(path, _) = $0 { true } else { false } }
        // Each commit is one write and one sync; each of three times a mebibyte of zeros is four writes and one sync.
        #expect(writes - syncs == 3 * (4 - 1))
        #expect(syncs > 60)
    }

    /// A file system that has no such call, one that has not the room after all, and a disk that fails.
    @Test(arguments: [Errno.notSupported, .noSpace, .io])
    func whereRoomIsNotToBeHadAtOnceSegmentsAreShort(_ errno: Errno) throws {
        for (count, events, length) in Self.loads {
            let storage = MemoryStorage()
            let bench = try Bench(storage, Self.options)
            storage.fault = { call in if case .allocate = call { errno } else { nil } }
            commit(count, events: events, of: length, to: bench)
            #expect(storage.calls.contains { if case .allocate = $0 { true } else { false } })
            try bench.restart(clean: false)
            #expect(try bench.drain().events == bench.accepted[.normal])
            #expect(bench.accepted[.normal]?.count == count * events)
        }
    }

    /// XFS keeps some of what it says that it has.
    @Test func aSegmentIsShorterWhereThereIsLessRoomThanTheFileSystemSays() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options)
        storage.fault = { call in if case .write(_, 262_144...) = call { .noSpace } else { nil } }
        bench.commit(batches: [1], length: 1_000)
        #expect(segments(of: storage) == [262_144])
        storage.fault = nil
        try bench.restart(clean: false)
        #expect(try bench.drain().events == bench.accepted[.normal])
        #expect(bench.accepted[.normal]?.count == 1)
    }

    @Test func whereThereIsLittleRoomNoneIsTakenAtOnce() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options)
        storage.capacity = 12 << 20
        commit(100, events: 1, of: 60_000, to: bench)
        #expect(!storage.calls.contains { if case .allocate = $0 { true } else { false } })
        #expect(try bench.drain().events == bench.accepted[.normal])
    }
}

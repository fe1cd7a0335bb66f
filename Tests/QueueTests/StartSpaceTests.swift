import Bytes
import Posix
import Queue
import Testing

/// What starts cost in space: each opens a segment of its own.
@Suite struct StartSpaceTests {
    private static var options: QueueOptions { QueueOptions(maximumBytes: 16 << 20, keepFree: .bytes(0)) }

    @Test func manyStartsWithFewEventsFitASmallQueue() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options)
        let starts = Process.environment("UPLINKD_THOROUGH_TESTS") == nil ? 60 : 500
        for start in 0..<starts {
            try bench.restart(clean: start % 2 == 0)
            for case .refused(let error) in bench.commit(batches: [1]) { Issue.record("start \(start): \(error)") }
            bench.housekeep()
        }
        #expect(bench.queue.bytesOnDisk < 512 * 1_024 + UInt64(starts) * 24 * 1_024)
        #expect(try Inspection(storage).verify().faults.isEmpty)
        #expect(try bench.drain().events.count == starts)
        bench.housekeep()
        #expect(bench.queue.bytesOnDisk < 1 << 20)
    }

    /// A sync of what others rely on could fail, and cast doubt on it, for no gain.
    @Test func roomIsGivenBackWithoutASync() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options)
        bench.commit(batches: [3])
        let path = try bench.onlySegment
        try bench.restart(clean: false)
        storage.calls.removeAll()
        bench.housekeep()
        #expect(storage.files[path]?.released.isEmpty == false)
        #expect(!storage.calls.contains(.synchronise(path)))
    }

    @Test func whatIsNoZeroIsKept() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options)
        bench.commit(batches: [3])
        let path = try bench.onlySegment
        let node = try #require(storage.files[path])
        bench.queue.close()
        // Behind the batch, within the second slice that is looked at.
        node.bytes[node.bytes.count - 1] = 7
        let before = node.bytes
        try bench.restart(clean: false)
        let bytes = bench.queue.bytesOnDisk
        bench.housekeep()
        #expect(node.bytes == before && bench.queue.bytesOnDisk == bytes && node.released.isEmpty)
        #expect(try bench.drain().events.count == 3)
    }

    @Test func aFailureCostsTheRoomAndNothingElse() throws {
        for failing in 1...4 {
            let storage = MemoryStorage()
            let bench = try Bench(storage, Self.options)
            bench.commit(batches: [3])
            let path = try bench.onlySegment
            try bench.restart(clean: false)
            var left = failing
            storage.fault = { call in
                switch call {
                case .open(path), .read(path, _), .write(path, _), .synchronise(path): left -= 1
                default: return nil
                }
                return left == 0 ? .io : nil
            }
            bench.housekeep()
            storage.fault = nil
            bench.commit(batches: [1])
            #expect(bench.queue.snapshot.storage == .good)
            #expect(try bench.drain().events.count == 4)
        }
    }
}

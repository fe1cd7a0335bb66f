import Bytes
import Posix
import Queue
import Testing
import Time

@Suite struct StartTests {
    private func open(_ storage: any Storage) throws(QueueError) -> Queue {
        try Queue.open(
            storage, options: QueueOptions(), destinations: ["main"], at: WallTime(milliseconds: 0),
            randomBits: { 4 })
    }

    @Test func aSecondDaemonIsRefusedAndTheFirstUnharmed() throws {
        let folder = try Folder()
        let bench = try Bench(FileStorage(directory: folder.path))
        bench.commit(batches: [2])
        #expect(throws: QueueError.locked(path: folder.path)) { try open(FileStorage(directory: folder.path)) }
        bench.commit(batches: [2])
        #expect(try bench.drain().events.count == 4)
    }

    @Test func aForeignDirectoryIsRefusedAndLeftAlone() throws {
        let folder = try Folder()
        _ = try FileDescriptor.open(folder.path + "/letters.txt", [.readWrite, .create])
        #expect(throws: QueueError.notOurs(path: folder.path, detail: "it holds letters.txt and no FORMAT")) {
            try open(FileStorage(directory: folder.path))
        }
        #expect(try FileSystem.names(in: folder.path) == ["letters.txt"])
    }

    @Test func aQueueWithoutFormatIsNotMadeAnew() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit()
        bench.queue.close()
        storage.files["FORMAT"] = nil
        let before = storage.files.mapValues(\.bytes)
        #expect(throws: QueueError.self) { try open(storage) }
        #expect(storage.files.mapValues(\.bytes) == before)
    }

    @Test func aDirectoryThatIsMissingOrAnothersIsSaidSo() throws {
        #expect(throws: QueueError.missingDirectory(path: "/nonexistent/queue")) {
            try open(FileStorage(directory: "/nonexistent/queue"))
        }
        let storage = MemoryStorage()
        storage.owner = 12
        #expect(throws: QueueError.notOurs(path: "/queue", detail: "it belongs to user 12")) { try open(storage) }
        #expect(storage.files.isEmpty)
    }

    @Test func oneDamagedCopyOfFormatDoesNotMatter() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        bench.queue.close()
        let node = try #require(storage.files["FORMAT"])
        node.bytes[17] ^= 1
        try bench.restart(clean: false)
        #expect(try bench.drain().events == bench.accepted[.normal])
        bench.queue.close()
        node.bytes[2_048 + 17] ^= 1
        #expect(throws: QueueError.notOurs(path: "/queue/FORMAT", detail: "damaged in both copies")) {
            try bench.restart(clean: false)
        }
    }

    @Test(arguments: [(12, UInt16(2), UInt64(0)), (32, UInt16(1), UInt64(2))])
    func aNewerFormatIsRefusedAndNothingTouched(place: Int, version: UInt16, features: UInt64) throws {
        let storage = MemoryStorage()
        try Bench(storage).queue.close()
        let node = try #require(storage.files["FORMAT"])
        for copy in [0, 2_048] {
            node.bytes[copy + place] = 2
            let crc = CRC32C.of(node.bytes, in: copy + 12..<copy + 512)
            node.bytes.storeLittleEndian(crc, at: copy + 8)
        }
        let before = storage.files.mapValues(\.bytes)
        storage.calls.removeAll()
        #expect(throws: QueueError.unknownFormat(path: "/queue/FORMAT", version: version, features: features)) {
            try open(storage)
        }
        #expect(storage.files.mapValues(\.bytes) == before)
    }

    @Test func everyCutOfTheFirstStartBoots() throws {
        for calls in 0..<40 {
            let storage = MemoryStorage()
            var left = calls
            storage.fault = { _ in
                left -= 1
                return left < 0 ? .io : nil
            }
            if let queue = try? open(storage) { queue.close() }
            var random = SplitMix64(seed: UInt64(calls))
            storage.crash(&random)
            let bench = try Bench(storage)
            bench.commit(batches: [2])
            #expect(try bench.drain().events.count == 2, "after \(calls) calls")
        }
    }

    @Test func aReadOnlyDiskIsReadAndRefusesCommits() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        bench.queue.close()
        storage.fault = { call in
            switch call {
            case .open("LOCK"), .open("cursors.new"), .write, .createDirectory, .rename, .unlink: .readOnly
            case .open(let path) where path.hasSuffix("spare"): .readOnly
            default: nil
            }
        }
        try bench.restart(clean: false)
        #expect(!bench.queue.recovery.failures.isEmpty)
        #expect(try bench.queue.read(.normal, for: "main", from: 1, limit: 1_000, age: 0)?.records.count == 3)
        guard case .refused(.failed(_, _, _, .readOnly)) = bench.commit().first else {
            Issue.record("committed to a read-only disk")
            return
        }
        #expect(bench.queue.snapshot.storage == .failing)
        storage.fault = nil
        bench.commit()
        try bench.queue.synchroniseCursors()
        #expect(bench.queue.snapshot.storage == .good)
        #expect(try bench.drain().events == bench.accepted[.normal])
    }

    private static func readOnly(_ call: MemoryStorage.Call) -> Errno? {
        switch call {
        case .open, .write, .createDirectory, .rename, .unlink: .readOnly
        default: nil
        }
    }

    @Test func anEmptyReadOnlyDirectoryBecomesAQueueOnceItCanBeWritten() throws {
        let storage = MemoryStorage()
        storage.fault = Self.readOnly
        let bench = try Bench(storage)
        #expect(bench.queue.snapshot.storage == .failing)
        #expect(storage.files.isEmpty)
        storage.fault = nil
        bench.commit(batches: [2])
        #expect(bench.queue.snapshot.storage == .good)
        #expect(throws: QueueError.locked(path: "/queue")) { try open(storage) }
        // What is settled now is known after a kill, though nothing was synced.
        #expect(try bench.drain().events.count == 2)
        try bench.restart(clean: false)
        #expect(try bench.drain().events.isEmpty)
    }

    @Test func aQueueThatAnotherDaemonMadeMeanwhileIsLeftAlone() throws {
        let storage = MemoryStorage()
        storage.fault = Self.readOnly
        let late = try Bench(storage)
        storage.fault = nil
        let other = try Bench(storage)
        other.commit(batches: [2])
        for isRunning in [true, false] {
            if !isRunning { other.queue.close() }
            let before = storage.files.mapValues(\.bytes)
            var batches = [late.batch(.normal, [late.event(300)])]
            let outcomes = late.queue.commit(&batches, at: WallTime(milliseconds: 0), age: 0)
            #expect(outcomes == [.refused(.locked(path: "/queue"))])
            #expect(storage.files.mapValues(\.bytes) == before)
        }
    }
}

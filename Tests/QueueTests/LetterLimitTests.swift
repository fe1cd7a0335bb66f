import Bytes
import Posix
import Queue
import Testing
import Time

/// What dead letters may take, and what happens where that is reached.
@Suite struct LetterLimitTests {
    private static let size: UInt64 = 4 << 20

    private func bench(_ destinations: [String], letters: Int = 65_536) throws -> (MemoryStorage, Bench) {
        var options = Bench.smallSegments
        options.maximumBytes = Self.size
        options.maximumLetters = letters
        let storage = MemoryStorage()
        let bench = try Bench(storage, options, destinations: destinations)
        bench.commit(batches: [300])
        return (storage, bench)
    }

    /// Buries the events of a destination one after the other until there is no room; how many, and why no more.
    private func fill(_ bench: Bench, _ destination: String) throws -> (UInt64, QueueError?) {
        for sequence in UInt64(1)...300 {
            let letter = try bench.letter(sequence, to: destination)
            do throws(QueueError) {
                try bench.queue.bury([letter])
            } catch {
                return (sequence - 1, error)
            }
        }
        return (300, nil)
    }

    /// One destination is dead and fills all that it may: the others have their share all the same.
    @Test func eachDestinationHasItsShareOfTheBytes() throws {
        let (_, bench) = try bench(["a", "b", "c"])
        let share = Self.size / 10 / 3
        for name in ["a", "b", "c"] {
            let (count, error) = try fill(bench, name)
            #expect(count == share / 4_096)
            #expect(error == .deadLettersFull(bytes: count * 4_096, limit: share))
        }
        #expect(bench.queue.deadLetters(limit: 999).count * 4_096 <= Self.size / 10)
    }

    @Test func eachDestinationHasItsShareOfTheNumber() throws {
        let (_, bench) = try bench(["a", "b"], letters: 20)
        for name in ["a", "b"] {
            let (count, error) = try fill(bench, name)
            #expect(count == 10 && error == .tooManyDeadLetters(10, limit: 10))
            #expect("\(try #require(error))".contains("10 of 10 letters"))
        }
    }

    /// What one filled while it was alone stays, and counts: all together there are never more than a tenth.
    @Test func allTogetherTakeNoMoreThanATenth() throws {
        let (_, bench) = try bench(["a"])
        let (alone, _) = try fill(bench, "a")
        #expect(alone == Self.size / 10 / 4_096)
        bench.queue.use(destinations: ["a", "b"])
        let (count, error) = try fill(bench, "b")
        #expect(count == 0 && error == .deadLettersFull(bytes: alone * 4_096, limit: Self.size / 10))
    }

    /// Even of very many destinations each can set the longest event apart.
    @Test func theShareHoldsTheLongestEvent() throws {
        let names = (0..<16).map { "d\($0)" }
        let (_, bench) = try bench(names)
        bench.commit(.urgent, batches: [1], length: bench.options.largestEventBytes)
        try bench.queue.bury([bench.letter(1, of: .urgent, to: "d0", detail: [UInt8](repeating: 1, count: 2_048))])
    }

    /// A letter that is sent again and refused again needs no more room than it had.
    @Test(arguments: ["full", "crowded", "no space", "no files"])
    func aRetriedLetterIsPutBackWhereThereIsNoRoom(why: String) throws {
        let (storage, bench) = try bench(["main"], letters: why == "crowded" ? 20 : 65_536)
        let (count, _) = try fill(bench, "main")
        _ = try bench.drain()
        let name = DeadLetterName(destination: "main", log: .normal, sequence: 2)
        #expect(try bench.queue.retry([name]) == 1)
        // Where a file cannot be written at all, it is the old one with the old answer.
        let isOld = why == "no space" || why == "no files"
        if why == "no space" {
            storage.fault = { if case .write(let path, _) = $0, path.hasSuffix(".new") { .noSpace } else { nil } }
        }
        if why == "no files" { storage.filesLeft = 63 }
        let refusal = EventRefusal(status: 409, attempts: 7, detail: Array("again".utf8))
        _ = try bench.queue.bury(2, of: .normal, for: "main", refusal, at: bench.wall)
        storage.fault = nil
        for _ in 0..<2 {
            let listed = bench.queue.deadLetters(limit: 999)
            #expect(listed.count == Int(count) && listed.allSatisfy { !$0.isRetried })
            #expect(try bench.queue.deadLetter(name)?.status == (isOld ? 422 : 409))
            #expect(bench.queue.snapshot.cursors.first?.ledger.dead == count)
            try bench.restart(clean: false)
        }
        #expect(storage.files.keys.count { $0.hasPrefix("dead/main/") } == Int(count))
    }

    /// Rule 15: the last files that the file system has room for are the log's.
    @Test func lettersLeaveTheLastFilesToEvents() throws {
        let (storage, bench) = try bench(["main"])
        storage.filesLeft = 64
        try bench.queue.bury([bench.letter(1)])
        storage.filesLeft = 63
        #expect(throws: QueueError.noFilesForDeadLetters(left: 63)) {
            try bench.queue.bury([bench.letter(2)])
        }
        #expect(bench.queue.deadLetters(limit: 9).count == 1)
    }
}

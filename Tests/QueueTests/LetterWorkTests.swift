import Bytes
import Posix
import Queue
import Testing
import Time

/// Many dead letters are removed, or sent again, in slices.
@Suite struct LetterWorkTests {
    /// A queue of `count` events, all but the last of them dead letters that the cursor has passed.
    private func bench(_ count: Int, slice: Int = 2, log: LogName = .normal) throws -> (MemoryStorage, Bench) {
        var options = Bench.smallSegments
        options.maximumBytes = 1 << 30
        options.lettersPerSlice = slice
        let storage = MemoryStorage()
        let bench = try Bench(storage, options)
        bench.commit(log, batches: [count])
        try bench.queue.bury((1..<UInt64(count)).map { try bench.letter($0, of: log) })
        _ = try bench.drain(log)
        storage.calls.removeAll()
        return (storage, bench)
    }

    private func ledger(_ bench: Bench) throws -> (dead: UInt64, purged: UInt64, queued: UInt64) {
        let cursor = try #require(bench.queue.snapshot.cursors.first)
        let accepted = bench.queue.snapshot.logs.first?.accepted
        #expect(cursor.origin + cursor.ledger.total + cursor.queued == accepted)
        return (cursor.ledger.dead, cursor.ledger.purged, cursor.queued)
    }

    private func files(_ storage: MemoryStorage) -> Int { storage.files.keys.count { $0.hasPrefix("dead/main/") } }

    @Test func whatIsBeingDroppedIsInNobodysSight() throws {
        let (storage, bench) = try bench(8)
        let names = bench.queue.deadLetters(limit: 99).map(\.name)
        #expect(try bench.queue.retry([names[0]]) == 1)
        var work = bench.queue.beginDrop(.all(of: ["main"]))
        for left in [5, 3, 1] as [UInt64] {
            #expect(bench.queue.deadLetters(limit: 99).isEmpty)
            #expect(try bench.queue.retry(names) == 0 && bench.queue.drop(names) == 0)
            #expect(try bench.queue.nextRetried(of: "main") { _ in true } == nil)
            let refusal = EventRefusal(status: 400, attempts: 1, detail: [])
            _ = try bench.queue.bury(1, of: .normal, for: "main", refusal, at: bench.wall)
            try bench.queue.resolve([names[0]])
            #expect(try !bench.queue.advance(&work))
            #expect(try ledger(bench) == (left, 7 - left, 0))
            #expect(files(storage) == Int(left) && work.done == 7 - left)
        }
        #expect(try bench.queue.advance(&work) && work.done == 7)
        #expect(try ledger(bench) == (0, 7, 0))
        #expect(files(storage) == 0)
    }

    @Test func aDropUnlinksOneFileALetterAndSynchronisesOnceASlice() throws {
        let (storage, bench) = try bench(41, slice: 10)
        let names = bench.queue.deadLetters(limit: 99).map(\.name)
        #expect(try bench.queue.retry(Array(names[..<5])) == 5)
        storage.calls.removeAll()
        #expect(try bench.queue.drop(names) == 40)
        let unlinks = storage.calls.filter { if case .unlink = $0 { true } else { false } }
        #expect(unlinks.count == 40)
        #expect(storage.calls.count { $0 == .synchroniseDirectory("dead/main") } == 4)
        #expect(storage.calls.count { if case .write("cursors", _) = $0 { true } else { false } } == 4)
    }

    /// A slice that has taken too long is ended, after one letter at least.
    @Test func aSliceIsBoundedInTime() throws {
        let storage = MemoryStorage()
        let first = try Bench(storage)
        first.commit(batches: [9])
        try first.queue.bury((1...8).map { try first.letter($0) })
        _ = try first.drain()
        first.queue.close()
        var now = Instant(nanoseconds: 0)
        let queue = try Queue.open(
            storage, options: first.options, destinations: ["main"], at: first.wall, randomBits: { 1 },
            clock: {
                now = now + .milliseconds(8)
                return now
            })
        for isRetry in [true, false] {
            var work = isRetry ? queue.beginRetry(.all(of: ["main"])) : queue.beginDrop(.all(of: ["main"]))
            #expect(try !queue.advance(&work))
            #expect((1...3).contains(work.done))
            var slices = 1
            while try !queue.advance(&work) { slices += 1 }
            #expect(work.done == 8 && slices >= 2)
        }
        #expect(queue.deadLetters(limit: 9).isEmpty)
    }

    @Test func lettersAreSentAgainInSlices() throws {
        let (_, bench) = try bench(8, slice: 3)
        var work = bench.queue.beginRetry(.all(of: ["main"]))
        #expect(try !bench.queue.advance(&work))
        #expect(try ledger(bench) == (4, 0, 3))
        // What is dropped between two slices is not sent again.
        let names = bench.queue.deadLetters(limit: 99).map(\.name)
        var drop = bench.queue.beginDrop(.named([names[0], names[6]]))
        while try !bench.queue.advance(&work) {}
        while try !bench.queue.advance(&drop) {}
        #expect(work.done == 6 && drop.done == 2)
        #expect(try ledger(bench) == (0, 2, 5))
    }

    /// An order that fails leaves the rest of its letters as they were.
    @Test func whatAFailedDropLeavesIsThereAgain() throws {
        let (storage, bench) = try bench(8)
        let names = bench.queue.deadLetters(limit: 99).map(\.name)
        #expect(try bench.queue.retry(Array(names[4...5])) == 2)
        var work = bench.queue.beginDrop(.all(of: ["main"]))
        #expect(try !bench.queue.advance(&work))
        storage.fault = { $0 == .unlink("dead/main/normal-00000000000000000004.letter") ? .io : nil }
        #expect(throws: QueueError.self) { _ = try bench.queue.advance(&work) }
        storage.fault = nil
        #expect(bench.queue.deadLetters(limit: 99).map(\.name) == Array(names[3...]))
        #expect(try ledger(bench) == (2, 3, 2))
        #expect(try bench.queue.drop(names) == 4)
        #expect(files(storage) == 0)
    }

    /// A file that an earlier call could not take away goes with its letter.
    @Test func aLetterGoesWithTheFileThatAFailureLeftBesideIt() throws {
        let (storage, bench) = try bench(3)
        let name = bench.queue.deadLetters(limit: 9)[0].name
        #expect(try bench.queue.retry([name]) == 1)
        storage.fault = { if case .unlink(let path) = $0, path.hasSuffix(".retry") { .io } else { nil } }
        try bench.queue.bury([bench.letter(1)])
        storage.fault = nil
        #expect(files(storage) == 3)
        #expect(try bench.queue.drop([name]) == 1)
        #expect(files(storage) == 1)
    }

    /// A purge takes the events out at once and the letters in slices, those that another order is about as well.
    @Test func aPurgeTakesItsLettersInSlices() throws {
        let (storage, bench) = try bench(8, log: .consent("ads"))
        bench.commit(.consent("ads"), batches: [2])
        try bench.queue.bury([bench.letter(9, of: .consent("ads"))])
        var drop = bench.queue.beginDrop(.all(of: ["main"]))
        #expect(try !bench.queue.advance(&drop))
        var purge = try bench.queue.beginPurge(log: .consent("ads"))
        #expect(purge.events == 7, "five letters and two events")
        #expect(try ledger(bench) == (5, 4, 0))
        bench.commit(.consent("ads"), batches: [1])
        while try !bench.queue.advance(&purge.letters) {}
        #expect(files(storage) == 0)
        while try !bench.queue.advance(&drop) {}
        #expect(drop.done == 2)
        #expect(try ledger(bench) == (0, 9, 1), "what came after is not purged")
    }

    /// A page and the next letter to be sent cost the same however many letters there are.
    @Test func aPageCostsTheSameHoweverManyThereAre() throws {
        func times(_ count: Int) throws -> (page: Duration, next: Duration) {
            let (_, bench) = try bench(count, slice: 1 << 20)
            let names = bench.queue.deadLetters(limit: count).map(\.name)
            _ = try bench.queue.retry(names.suffix(count / 2))
            let pages = (0..<20).map { _ in
                let start = Clock.now
                _ = bench.queue.deadLetters(after: names[count / 2], limit: 32)
                return Clock.now - start
            }
            let nexts = try (0..<20).map { _ in
                let start = Clock.now
                _ = try bench.queue.nextRetried(of: "main") { _ in true }
                return Clock.now - start
            }
            return (pages.min() ?? .zero, nexts.min() ?? .zero)
        }
        let (few, many) = (try times(100), try times(4_000))
        #expect(many.page < few.page * 8, "\(few.page) and \(many.page)")
        #expect(many.next < few.next * 8, "\(few.next) and \(many.next)")
    }

    /// However they come and go, letters are listed in order and once.
    @Test func lettersThatComeInAnyOrderAreListedInOrder() throws {
        let bench = try Bench(MemoryStorage())
        bench.commit(batches: [60])
        var random = SplitMix64(seed: 5)
        var there: Set<UInt64> = []
        for sequence in (UInt64(1)...60).shuffled(using: &random) {
            try bench.queue.bury([bench.letter(sequence)])
            there.insert(sequence)
            #expect(bench.queue.deadLetters(limit: 99).map(\.name.sequence) == there.sorted())
        }
        _ = try bench.drain()
        var retried: Set<UInt64> = []
        for sequence in (UInt64(1)...60).shuffled(using: &random) {
            let name = DeadLetterName(destination: "main", log: .normal, sequence: sequence)
            switch random.next() % 3 {
            case 0:
                #expect(try bench.queue.drop([name]) == 1)
                there.remove(sequence)
            case 1:
                #expect(try bench.queue.retry([name]) == 1)
                retried.insert(sequence)
            default: break
            }
            let listed = bench.queue.deadLetters(limit: 99)
            #expect(listed.map(\.name.sequence) == there.sorted())
            #expect(Set(listed.filter(\.isRetried).map(\.name.sequence)) == retried)
            #expect(bench.queue.snapshot.cursors.first?.queued == UInt64(retried.count))
            let next = try bench.queue.nextRetried(of: "main") { _ in true }
            #expect(next?.0.sequences.lowerBound == retried.min())
        }
    }
}

import Bytes
import Posix
import Queue
import Testing
import Time

@Suite struct DeadLetterTests {
    @Test func aBuriedEventIsKeptAndNotSent() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [5])
        let letter = try bench.letter(3, detail: [UInt8](repeating: 7, count: 3_000))
        try bench.queue.bury([letter])
        for turn in 0..<2 {
            let delivery = try bench.drain()
            #expect(delivery.events.keys.sorted() == (turn == 0 ? [1, 2, 4, 5] : []))
            #expect(delivery.dead == (turn == 0 ? [3] : []))
            #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger.dead == 1)
            #expect(bench.queue.deadLetters(limit: 9).map(\.name) == [letter.name])
            let read = try #require(try bench.queue.deadLetter(letter.name))
            #expect(read == letter && read.detail.count == DeadLetter.maximumDetail)
            try bench.restart()
        }
        #expect(storage.files["dead/main/normal-00000000000000000003.letter"] != nil)
    }

    /// Rule 5: a run that died between the letter and the cursor has buried the event all the same.
    @Test func theStoreWinsOverTheCursor() throws {
        let bench = try Bench(MemoryStorage(), destinations: ["main", "other"])
        bench.commit(batches: [4])
        try bench.queue.bury([bench.letter(2)])
        try bench.restart(clean: false)
        let chunk = try #require(
            try bench.queue.read(.normal, for: "main", from: 1, limit: 1 << 20, age: bench.age))
        #expect(chunk.records.map(\.sequence) == [1, 3, 4])
        #expect(chunk.disposed == [Disposition(.dead, 2...2)])
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, 1...4)])
        let ledger = bench.queue.cursor(destination: "main", log: .normal)?.ledger
        #expect(ledger?.dead == 1 && ledger?.delivered == 3)
        // What is settled stays as it is.
        try bench.queue.bury([bench.letter(3)])
        #expect(bench.queue.deadLetters(limit: 9).count == 1)
        #expect(try bench.drain(to: "other").events.count == 4)
    }

    @Test func lettersOfOneRequestCostOneSyncOfTheDirectory() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [8])
        let letters = try (1...5).map { try bench.letter($0) }
        try bench.queue.bury([letters[0]])
        storage.calls.removeAll()
        try bench.queue.bury(Array(letters[1...]))
        #expect(storage.calls.filter { $0 == .synchroniseDirectory("dead/main") }.count == 1)
        #expect(storage.calls.last == .synchroniseDirectory("dead/main"))
        let renames = storage.calls.indices.filter { if case .rename = storage.calls[$0] { true } else { false } }
        let syncs = storage.calls.indices.filter { if case .synchronise = storage.calls[$0] { true } else { false } }
        #expect(renames.count == 4 && zip(syncs, renames).allSatisfy { $0 < $1 })
    }

    @Test func aDamagedLetterCostsOneLetter() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        let letters = try (1...3).map { try bench.letter($0) }
        try bench.queue.bury(letters)
        _ = try bench.drain()
        let node = try #require(storage.files["dead/main/normal-00000000000000000002.letter"])
        for offset in node.bytes.indices {
            node.bytes[offset] ^= 0x10
            #expect(throws: QueueError.damagedLetter(path: "/queue/\(node.path)")) {
                try bench.queue.deadLetter(letters[1].name)
            }
            if offset % 64 == 0 { #expect(try bench.queue.deadLetter(letters[2].name) == letters[2]) }
            node.bytes[offset] ^= 0x10
        }
        for length in 0..<node.bytes.count where length % 7 == 0 {
            let whole = node.bytes
            node.bytes.removeLast(whole.count - length)
            #expect(throws: QueueError.self) { try bench.queue.deadLetter(letters[1].name) }
            node.bytes = whole
        }
        node.bytes[60] ^= 1
        try bench.restart()
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger.dead == 3)
        #expect(try bench.queue.drop(letters.map(\.name)) == 3)
        let ledger = bench.queue.cursor(destination: "main", log: .normal)?.ledger
        #expect(ledger?.dead == 0 && ledger?.purged == 3)
    }

    @Test func fullLettersLoseNothing() throws {
        var options = Bench.smallSegments
        options.maximumBytes = 1 << 20
        let bench = try Bench(MemoryStorage(), options)
        bench.commit(batches: [40])
        var buried = 0
        var refused = 0
        for sequence in 1...UInt64(40) {
            let letter = try bench.letter(sequence)
            do throws(QueueError) {
                try bench.queue.bury([letter])
                buried += 1
            } catch {
                guard case .deadLettersFull(_, (1 << 20) / 10) = error else { throw error }
                refused += 1
            }
        }
        #expect(buried == (1 << 20) / 10 / 4_096 && refused == 40 - buried)
        #expect(bench.queue.bytesOnDisk >= UInt64(buried * 4_096))
        let delivery = try bench.drain()
        #expect(delivery.dead.count == buried && delivery.events.count == refused)
    }

    /// `MaxSize` bounds all files; below nine tenths of it letters keep no event out.
    @Test(arguments: [LogName.urgent, .bulk])
    func lettersAndEventsStayWithinMaxSize(log: LogName) throws {
        var options = Bench.smallSegments
        options.maximumBytes = 2 << 20
        var counts: [Int] = []
        for lettersFirst in [false, true] {
            let bench = try Bench(MemoryStorage(), options)
            bench.commit(log, batches: [60])
            var letters = try (1...60).map { try bench.letter($0, of: log) }
            if lettersFirst { while (try? bench.queue.bury([letters.removeFirst()])) != nil {} }
            var accepted = 0
            while case .committed = bench.commit(log, batches: [1], length: 3_000)[0] { accepted += 1 }
            counts.append(accepted)
            while (try? bench.queue.bury([letters.removeFirst()])) != nil {}
            #expect(bench.queue.bytesOnDisk <= 2 << 20)
            if log == .urgent, !lettersFirst { #expect(bench.queue.deadLetters(limit: 99).count < 30) }
        }
        if log == .bulk { #expect(counts[0] == counts[1]) }
    }

    /// A queue that is full in every lane has room to set its longest event apart, be there letters already or not.
    @Test(arguments: [0, 3])
    func aFullQueueSetsItsLongestEventApart(letters: UInt64) throws {
        var options = QueueOptions(maximumBytes: 4 << 20, keepFree: .bytes(0))
        options.largestEventBytes = 100_000
        let bench = try Bench(MemoryStorage(), options)
        bench.commit(batches: [4])
        bench.commit(.urgent, batches: [1], length: 100_000)
        for sequence in 0..<letters { try bench.queue.bury([bench.letter(sequence + 1)]) }
        for log in [LogName.bulk, .normal, .urgent] {
            for length in [60_000, 3_000, 300] {
                while case .committed = bench.commit(log, batches: [1], length: length)[0] {}
            }
        }
        try bench.queue.bury([bench.letter(1, of: .urgent)])
        #expect(bench.queue.bytesOnDisk <= 4 << 20)
    }

    /// What is set apart takes room, and that of its segment is free only once all of it is settled.
    @Test func aFullQueueSetsOneLongEventAfterTheOtherApart() throws {
        var options = QueueOptions(maximumBytes: 16 << 20, keepFree: .bytes(0))
        options.largestEventBytes = 60_000
        let bench = try Bench(MemoryStorage(), options)
        for log in [LogName.normal, .urgent] {
            for length in [60_000, 3_000, 300] {
                while case .committed = bench.commit(log, batches: [1], length: length)[0] {}
            }
        }
        for sequence in UInt64(1)...12 {
            try bench.queue.bury([bench.letter(sequence)])
            bench.queue.settle(
                destination: "main", log: .normal, [Disposition(.dead, sequence...sequence)])
            bench.housekeep(from: 10_000_000_000 * Int64(sequence))
        }
        #expect(bench.queue.bytesOnDisk <= 16 << 20)
    }

    @Test(arguments: [MemoryStorage.Call.synchroniseDirectory("dead/main"), .synchronise("cursors")])
    func whatTheDiskKeptUnfinishedIsDoneLater(call: MemoryStorage.Call) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [4])
        let letter = try bench.letter(2)
        try bench.queue.bury([letter])
        _ = try bench.drain()
        #expect(try bench.queue.retry([letter.name]) == 1)
        storage.fault = { $0 == call || $0 == .synchronise("cursors.new") ? .io : nil }
        #expect(throws: QueueError.self) { try bench.queue.resolve([letter.name]) }
        storage.fault = nil
        bench.housekeep(from: 10_000_000_000)
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger.delivered == 4)
        #expect(!storage.files.keys.contains { $0.hasPrefix("dead/main/") })
        bench.checkSums()
    }

    /// An order that is done but for one sync is not answered with an error.
    @Test(arguments: [
        (false, MemoryStorage.Call.synchroniseDirectory("dead/main")), (true, .synchroniseDirectory("dead/main")),
        (true, .synchronise("cursors")),
    ])
    func oneSyncThatFailsIsDoneOnceMore(isDrop: Bool, failing: MemoryStorage.Call) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [4])
        let letter = try bench.letter(2)
        try bench.queue.bury([letter])
        _ = try bench.drain()
        var failed = 0
        storage.fault = { call in
            guard call == failing, failed == 0 else { return nil }
            failed = 1
            return .io
        }
        #expect(try isDrop ? bench.queue.drop([letter.name]) == 1 : bench.queue.retry([letter.name]) == 1)
        #expect(failed == 1)
        storage.fault = nil
        var random = SplitMix64(seed: 1)
        storage.crash(&random)
        try bench.restart(clean: false)
        let listed = bench.queue.deadLetters(limit: 9)
        #expect(isDrop ? listed.isEmpty : listed.map(\.isRetried) == [true])
    }

    @Test func whatWasNotFinishedIsRemovedAndWhatIsForeignStays() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [2])
        try bench.queue.bury([bench.letter(1)])
        let left = "dead/main/normal-00000000000000000002.new"
        let foreign = [
            "dead/main/normal-2.letter", "dead/main/README", "dead/main/normal-00000000000000000000.letter",
            "dead/main/odd-00000000000000000002.letter", "dead/NOTES",
        ]
        for path in [left] + foreign { storage.files[path] = MemoryStorage.Node(path, [1]) }
        try bench.restart()
        #expect(storage.files[left] == nil)
        #expect(bench.queue.recovery.strays.sorted() == foreign.sorted())
        #expect(try bench.drain().dead == [1])
        // A name alone says nothing of events beyond the log.
        let beyond = "dead/main/normal-00000000000000009000.letter"
        storage.files[beyond] = MemoryStorage.Node(beyond, [1])
        try bench.restart()
        #expect(bench.queue.snapshot.logs.first?.accepted == 2)
        #expect(bench.queue.recovery.strays.contains(beyond))
    }

    @Test func aLogThatIsLostGoesAsFarAsItsLetters() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [4])
        let letter = try bench.letter(3)
        try bench.queue.bury([letter])
        bench.queue.close()
        storage.files = storage.files.filter { !$0.key.hasPrefix("logs/") && $0.key != "cursors" }
        try bench.restart(clean: false)
        #expect(bench.queue.snapshot.logs.first?.accepted == 3)
        bench.checkSums()
        #expect(bench.queue.deadLetters(limit: 9).map(\.name) == [letter.name])
        bench.accepted = [:]
        bench.commit()
        #expect(bench.accepted[.normal]?.keys.sorted() == [4])
    }

    @Test func theSumHoldsWhateverHappensToTheOtherFiles() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        // Several segments, so that the oldest go.
        for _ in 0..<40 { bench.commit(batches: [1]) }
        try bench.queue.bury((1...3).map { try bench.letter($0) })
        _ = try bench.drain()
        bench.housekeep()
        let oldest = try #require(bench.queue.snapshot.logs.first?.oldest)
        try #require(oldest > 3)
        // Removed by hand.
        bench.queue.close()
        storage.files["dead/main/normal-00000000000000000002.letter"] = nil
        try bench.restart(clean: false)
        var cursor = try #require(bench.queue.snapshot.cursors.first)
        #expect(cursor.ledger.dead == 2 && cursor.ledger.purged == 1 && cursor.ledger.delivered == 37)
        bench.checkSums()
        // The cursors lost.
        bench.queue.close()
        storage.files["cursors"] = nil
        try bench.restart(clean: false)
        cursor = try #require(bench.queue.snapshot.cursors.first)
        #expect(cursor.ledger.dead == 2 && cursor.origin == oldest - 3 && cursor.low == oldest)
        bench.checkSums()
        #expect(bench.queue.deadLetters(of: "main", limit: 9).map(\.name.sequence) == [1, 3])
        // A folder that cannot be listed: nothing is counted as removed.
        bench.queue.close()
        storage.fault = { $0 == .names("dead/main") ? .io : nil }
        try bench.restart(clean: false)
        storage.fault = nil
        #expect(bench.queue.recovery.failures.count == 1)
        #expect(bench.queue.snapshot.cursors.first?.ledger.dead == 2)
    }

    @Test func lettersAreListedInPages() throws {
        let bench = try Bench(MemoryStorage(), destinations: ["a", "b"])
        bench.commit(.urgent, batches: [3])
        bench.commit(.normal, batches: [3])
        for destination in ["b", "a"] {
            for log in [LogName.urgent, .normal] {
                try bench.queue.bury((1...3).map { try bench.letter($0, of: log, to: destination) })
            }
        }
        var names: [DeadLetterName] = []
        while case let page = bench.queue.deadLetters(after: names.last, limit: 5), !page.isEmpty {
            names += page.map(\.name)
        }
        #expect(names == names.sorted() && Set(names).count == 12)
        #expect(bench.queue.deadLetters(of: "b", limit: 99).count == 6)
    }

    /// A cursor that was lost and is made anew begins behind its letters, which count as dead at once.
    @Test func aNewCursorCountsTheLettersThatAreThere() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["main", "other"])
        bench.commit(batches: [5])
        try bench.queue.bury([bench.letter(2), bench.letter(4)])
        for name in bench.destinations { _ = try bench.drain(to: name) }
        while bench.queue.snapshot.logs.first?.oldest == 1 {
            bench.commit(batches: [1], length: 30_000)
            for name in bench.destinations { _ = try bench.drain(to: name) }
            bench.housekeep()
        }
        bench.queue.close()
        storage.files["cursors"] = nil
        bench.destinations = ["other"]
        try bench.restart(clean: false)
        bench.queue.use(destinations: ["main", "other"])
        let made = try #require(bench.queue.cursor(destination: "main", log: .normal))
        #expect(made.ledger.dead == 2 && made.ledger.total == 2)
        bench.checkSums()
        bench.destinations = ["main", "other"]
        try bench.restart()
        #expect(bench.queue.cursor(destination: "main", log: .normal) == made)
    }

    @Test func aLetterIsSentAgain() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [6])
        let letters = try (1...4).map { try bench.letter($0) }
        try bench.queue.bury(letters)
        let names = letters.map(\.name)
        #expect(try bench.queue.retry(names) == 0, "no cursor has passed them")
        #expect(try bench.queue.drop(names) == 0)
        _ = try bench.drain()
        #expect(try bench.queue.retry(Array(names[0...2])) == 3)
        try bench.restart()
        var cursor = try #require(bench.queue.snapshot.cursors.first)
        #expect(cursor.ledger.dead == 1 && cursor.queued == 3 && cursor.accepted == 6)
        #expect(bench.queue.deadLetters(limit: 9).map(\.isRetried) == [true, true, true, false])
        #expect(try bench.queue.deadLetter(names[0]) == letters[0])
        try bench.queue.resolve([names[0], names[3]])
        try bench.queue.bury([bench.letter(2, detail: Array("again".utf8))])
        for _ in 0..<2 {
            cursor = try #require(bench.queue.snapshot.cursors.first)
            #expect(cursor.ledger.dead == 2 && cursor.queued == 1 && cursor.ledger.delivered == 3)
            #expect(bench.queue.deadLetters(limit: 9).map(\.name) == Array(names[1...]))
            #expect(try bench.queue.deadLetter(names[1])?.detail == Array("again".utf8))
            try bench.restart()
        }
        #expect(storage.files.keys.filter { $0.hasPrefix("dead/") }.count == 3)
    }
}

extension Bench {
    /// A letter for an event that was committed.
    func letter(
        _ sequence: UInt64, of log: LogName = .normal, to destination: String = "main", detail: [UInt8] = []
    ) throws -> DeadLetter {
        DeadLetter(
            destination: destination, log: log, id: EventID(epoch: 99, sequence: sequence),
            event: try #require(accepted[log]?[sequence]), acceptedAt: WallTime(milliseconds: 5_000), status: 422,
            attempts: 3, at: WallTime(milliseconds: 6_000), detail: detail)
    }
}

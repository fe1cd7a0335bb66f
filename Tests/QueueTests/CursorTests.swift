import Bytes
import Posix
import Queue
import Testing
import Time

@Suite struct CursorTests {
    @Test func twoDestinationsHaveTwoCursors() throws {
        let folder = try Folder()
        let bench = try Bench(FileStorage(directory: folder.path), destinations: ["a", "b"])
        bench.commit(batches: [5])
        #expect(try bench.drain(to: "a").events.count == 5)
        bench.commit(batches: [2])
        try bench.restart()
        #expect(bench.queue.cursor(destination: "a", log: .normal)?.low == 6)
        #expect(bench.queue.cursor(destination: "b", log: .normal)?.low == 1)
        #expect(try bench.drain(to: "b").events == bench.accepted[.normal])
        #expect(try bench.drain(to: "a").events.keys.sorted() == [6, 7])
        #expect(bench.queue.cursor(destination: "a", log: .normal)?.ledger.delivered == 7)
    }

    @Test func theFirstDispositionWins() throws {
        let bench = try Bench(MemoryStorage())
        bench.commit(batches: [4])
        func settle(_ dispositions: Disposition...) {
            bench.queue.settle(destination: "main", log: .normal, dispositions)
        }
        var expected = Ledger()
        expected.dead = 2
        settle(Disposition(.dead, 1...2))
        settle(Disposition(.delivered, 1...1))
        settle(Disposition(.delivered, 1...1), Disposition(.expired, 2...2))
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger == expected)
        settle(Disposition(.delivered, 1...1), Disposition(.expired, 2...3), Disposition(.evicted, 4...4))
        (expected.expired, expected.evicted) = (1, 1)
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger == expected)
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.low == 5)
        bench.checkSums()
    }

    @Test func aNewDestinationStartsAtTheOldestEventAndARemovedOneKeepsItsOwn() throws {
        let bench = try Bench(MemoryStorage())
        bench.commit(batches: [5])
        _ = try bench.drain()
        bench.destinations = ["new"]
        try bench.restart()
        let snapshot = bench.queue.snapshot
        #expect(snapshot.cursors.map(\.destination) == ["main", "new"])
        #expect(snapshot.cursors.map(\.isRemoved) == [true, false])
        #expect(snapshot.cursors.map(\.queued) == [0, 5])
        #expect(bench.queue.recovery.cursorsReset.isEmpty, "a new destination is no damage")
        bench.queue.use(destinations: ["new", "newer"])
        #expect(try bench.drain(to: "newer").events == bench.accepted[.normal])
    }

    /// After `kill -9`: a slot was written, not synced, and the page cache lives on.
    @Test func aKilledDaemonGoesOnAtItsCursor() throws {
        let folder = try Folder()
        let bench = try Bench(FileStorage(directory: folder.path))
        bench.commit(batches: [3])
        _ = try bench.drain()
        try bench.restart(clean: false)
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.low == 4)
    }

    @Test func oneDamagedCopyCostsWhatOneSyncMadeDurable() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<4 {
            bench.commit(batches: [2])
            _ = try bench.drain()
            try bench.queue.synchroniseCursors()
        }
        bench.queue.close()
        let good = try #require(storage.files["cursors"]).bytes
        // Generation 1 was the empty cursor, 5 the newest: the odd copies stand in the second page.
        for (place, low) in [(4_096 + 100, UInt64(7)), (100, 9)] {
            let node = try #require(storage.files["cursors"])
            node.bytes = good
            node.bytes[place] ^= 1
            try bench.restart(clean: false)
            #expect(bench.queue.cursor(destination: "main", log: .normal)?.low == low)
            #expect(bench.queue.recovery.damagedSlots == 1)
            #expect(bench.queue.recovery.cursorsReset.isEmpty)
            bench.queue.close()
        }
    }

    @Test(arguments: ["both copies", "missing", "short", "zeros", "random"])
    func aLostCursorStartsAtTheOldestAndSaysSo(damage: String) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["a", "b"])
        bench.commit(batches: [6])
        _ = try bench.drain(to: "a")
        _ = try bench.drain(to: "b")
        bench.queue.close()
        let node = try #require(storage.files["cursors"])
        var random = SplitMix64(seed: 5)
        switch damage {
        case "both copies":
            node.bytes[90] ^= 1
            node.bytes[4_096 + 90] ^= 1
        case "missing": storage.files["cursors"] = nil
        case "zeros": node.bytes = [UInt8](repeating: 0, count: node.bytes.count)
        case "short": node.bytes = Array(node.bytes.prefix(10))
        default: node.bytes = (0..<node.bytes.count).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        try bench.restart(clean: false)
        #expect(bench.queue.cursor(destination: "a", log: .normal)?.low == 1)
        let expected = damage == "both copies" ? ["a"] : ["a", "b"]
        #expect(bench.queue.recovery.cursorsReset.map(\.destination) == expected)
        #expect(try bench.drain(to: "a").events == bench.accepted[.normal])
        bench.commit()
        try bench.restart()
        #expect(bench.queue.cursor(destination: "a", log: .normal)?.low == 7, "the new cursor is kept")
    }

    @Test func manyCursorsFindTheirSlots() throws {
        let names = (0..<16).map { "destination-\($0)" }
        let bench = try Bench(MemoryStorage(), destinations: names)
        let logs = LogName.lanes + (0..<8).map { LogName.consent("category-\($0)") }
        for log in logs { bench.commit(log, batches: [2], length: 20) }
        for (index, name) in names.enumerated() {
            for log in logs {
                let last = UInt64(index % 2) + 1
                bench.queue.settle(destination: name, log: log, [Disposition(.delivered, 1...last)])
            }
        }
        try bench.restart()
        #expect(bench.queue.snapshot.cursors.count == 16 * 11)
        for (index, name) in names.enumerated() {
            for log in logs {
                #expect(bench.queue.cursor(destination: name, log: log)?.low == UInt64(index % 2) + 2)
            }
        }
    }

    /// What a restored older log or a lost tail looks like: numbers that a cursor passed are not given again.
    @Test func aCursorThatIsAheadOfTheLogLosesNothingNew() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["a", "b"])
        bench.commit(batches: [1])
        bench.commit(batches: [3])
        _ = try bench.drain(to: "a")
        bench.queue.close()
        let node = try #require(storage.files[try bench.onlySegment])
        node.bytes.replaceSubrange(8_192..<12_288, with: [UInt8](repeating: 0, count: 4_096))
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.last?.kind == .missingTail)
        #expect(bench.queue.recovery.damages.last?.sequences == 2...4)
        bench.commit(batches: [1])
        #expect(try bench.drain(to: "a").events.keys.sorted() == [5])
        let other = try bench.drain(to: "b")
        #expect(other.events.keys.sorted() == [1, 5])
        #expect(other.quarantined == [2, 3, 4])
    }

    @Test func aCursorFileThatFailsIsMadeAnew() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        storage.fault = { $0 == .synchronise("cursors") || $0 == .synchronise("cursors.new") ? .io : nil }
        _ = try bench.drain()
        #expect(throws: QueueError.self) { try bench.queue.synchroniseCursors() }
        #expect(bench.queue.cursorsFailing)
        #expect(bench.queue.snapshot.cursorsFailing)
        storage.fault = { $0 == .synchronise("cursors") ? .io : nil }
        storage.calls.removeAll()
        try bench.queue.synchroniseCursors()
        #expect(!storage.calls.contains(.synchronise("cursors")), "a file that failed is not synced again")
        #expect(!bench.queue.cursorsFailing)
        var random = SplitMix64(seed: 1)
        storage.crash(&random)
        try bench.restart(clean: false)
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.low == 4)
    }

    /// What is settled becomes durable also where there is no room for a file beside the one that the start found.
    @Test(arguments: [Errno.noSpace, .quota]) func aStartOnAFullDiskWritesOverTheCursorFile(errno: Errno) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["a", "b"])
        bench.commit(batches: [3])
        _ = try bench.drain(to: "a")
        storage.fault = { $0 == .open("cursors.new") ? errno : nil }
        for round in 1...3 as ClosedRange<UInt64> {
            try bench.restart(clean: false)
            #expect(!bench.queue.cursorsFailing)
            #expect(bench.queue.cursor(destination: "a", log: .normal)?.low == 4)
            #expect(bench.queue.cursor(destination: "b", log: .normal)?.low == (round == 1 ? 1 : round + 3))
            bench.commit()
            _ = try bench.drain(to: "b")
            try bench.queue.synchroniseCursors()
            #expect(!bench.queue.cursorsFailing)
            var random = SplitMix64(seed: round)
            storage.crash(&random)
        }
    }

    /// A file whose sync failed in this run is not written over.
    @Test func aCursorFileThatFailedIsNotWrittenOver() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        storage.fault = { $0 == .open("cursors.new") ? .noSpace : $0 == .synchronise("cursors") ? .io : nil }
        try bench.restart(clean: false)
        #expect(bench.queue.cursorsFailing)
        storage.fault = { $0 == .open("cursors.new") ? .noSpace : nil }
        storage.calls.removeAll()
        #expect(throws: QueueError.self) { try bench.queue.synchroniseCursors() }
        #expect(!storage.calls.contains(.synchronise("cursors")))
        #expect(bench.queue.condition.storage == .full)
    }

    /// Of the two copies the last durable one stays, so that a write that tears its sector costs no more than is not
    /// durable yet.
    @Test(arguments: 1...4 as ClosedRange<UInt64>, [false, true])
    func aTornWriteCostsNothingDurable(moves: UInt64, isFull: Bool) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["main", "gone"])
        bench.commit(batches: [9])
        func settle(_ sequence: UInt64) {
            bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, sequence...sequence)])
        }
        for sequence in 1...3 as ClosedRange<UInt64> {
            settle(sequence)
            try bench.queue.synchroniseCursors()
        }
        if isFull {
            // This file is written over once there is no room for a new one.
            bench.queue.use(destinations: ["main"])
            storage.fault = { $0 == .open("cursors.new") ? .io : nil }
            #expect(throws: QueueError.self) { try bench.queue.forget(destination: "gone") }
            storage.fault = { $0 == .open("cursors.new") ? .noSpace : nil }
        }
        let node = try #require(storage.files["cursors"])
        let durable = node.bytes
        for sequence in 4..<4 + moves { settle(sequence) }
        if isFull { try bench.queue.synchroniseCursors() }
        let place = storage.calls.compactMap { if case .write("cursors", let place) = $0 { place } else { nil } }.last
        let sector = try #require(place)..<(try #require(place)) + 512
        node.bytes = durable
        node.bytes[sector.lowerBound + 100] ^= 1
        storage.fault = nil
        try bench.restart(clean: false)
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.low == 4)
    }
}

import Bytes
import Posix
import Queue
import Testing
import Time

/// `WhenFull=drop-oldest`: the oldest makes room, the least urgent log's first; each that goes is counted.
@Suite struct EvictionTests {
    private static var options: QueueOptions {
        var options = QueueOptions(maximumBytes: 1 << 20)
        options.firstSegmentBytes = 65_536
        options.segmentBytes = 65_536
        options.whenFull = .dropOldest
        return options
    }

    private func isTaken(_ outcomes: [CommitOutcome]) -> Bool {
        outcomes.allSatisfy { if case .committed = $0 { true } else { false } }
    }

    private func ledger(_ bench: Bench, _ log: LogName, _ name: String = "main") -> Ledger {
        bench.queue.cursor(destination: name, log: log)?.ledger ?? Ledger()
    }

    @Test func aFullQueueGoesOnAndCountsWhatItGaveUp() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options, destinations: ["a", "b"])
        for _ in 0..<20 { #expect(isTaken(bench.commit(batches: [3]))) }
        _ = try bench.drain(to: "b")
        var inline = 0
        for turn in 0..<600 {
            storage.calls.removeAll()
            #expect(isTaken(bench.commit(batches: [2], length: 1_500)), "turn \(turn)")
            if turn > 300, storage.calls.contains(where: { if case .write("spare", _) = $0 { true } else { false } }) {
                inline += 1
            }
            #expect(bench.queue.bytesOnDisk <= 1 << 20)
            if turn % 50 == 0 { bench.housekeep(from: Int64(turn) * 100_000_000_000) }
            #expect(bench.queue.snapshot.storage == .good)
        }
        bench.checkSums()
        let moves = bench.queue.takeMoves()
        for name in ["a", "b"] {
            let evicted = moves.filter { $0.destination == name }
            #expect(evicted.allSatisfy { $0.kind == .evicted && $0.log == .normal })
            #expect(evicted.reduce(0) { $0 + $1.count } == ledger(bench, .normal, name).evicted)
            #expect(evicted.map(\.low) == evicted.map(\.low).sorted())
        }
        #expect(ledger(bench, .normal, "a").evicted > 500)
        #expect(ledger(bench, .normal, "b").delivered == 60)
        #expect(inline == 0, "what was given up is used again")
        let low = bench.queue.cursor(destination: "a", log: .normal)?.low ?? 1
        try bench.restart(clean: false)
        let rest = try bench.drain(to: "a")
        #expect(rest.events == bench.accepted[.normal]?.filter { $0.key >= low })
        #expect(rest.quarantined.isEmpty)
    }

    @Test func whatWasPurgedBeforeAStartIsNotEvicted() throws {
        let bench = try Bench(MemoryStorage(), Self.options, destinations: ["a"])
        bench.commit(batches: [3])
        let id = try #require(try bench.queue.read(.normal, for: "a", from: 1, limit: 9_000, age: 0)).epoch
        #expect(try bench.queue.purge(id: EventID(epoch: id, sequence: 2)) == 1)
        try bench.restart(clean: false)
        _ = try bench.drain(to: "a")
        // Only the copy that the start has made is left.
        bench.housekeep()
        bench.queue.use(destinations: ["a", "b"])
        while ledger(bench, .normal, "b").evicted == 0 { #expect(isTaken(bench.commit(batches: [8], length: 4_000))) }
        #expect(ledger(bench, .normal, "b").purged == 1)
    }

    @Test func theLeastUrgentGoesFirst() throws {
        let bench = try Bench(MemoryStorage(), Self.options)
        let logs: [LogName] = [.urgent, .normal, .bulk, .consent("ads")]
        for log in logs { for _ in 0..<30 { bench.commit(log, batches: [1], length: 3_000) } }
        var gone: [LogName] = []
        for _ in 0..<500 {
            #expect(isTaken(bench.commit(.urgent, batches: [1], length: 3_000)))
            for move in bench.queue.takeMoves() where gone.last != move.log { gone.append(move.log) }
        }
        #expect(gone == [.bulk, .consent("ads"), .normal, .urgent])
        for log in [LogName.bulk, .normal, .consent("ads")] {
            #expect(ledger(bench, log).evicted == 30, "\(log.text)")
        }
        bench.checkSums()
    }

    @Test func noLogGivesUpWhatIsMoreUrgent() throws {
        let bench = try Bench(MemoryStorage(), Self.options)
        while bench.queue.takeMoves().isEmpty { #expect(isTaken(bench.commit(.urgent, batches: [1], length: 3_000))) }
        let evicted = ledger(bench, .urgent).evicted
        for log in [LogName.bulk, .consent("ads"), .normal] {
            let outcome = bench.commit(log)
            #expect(outcome.allSatisfy { if case .refused(.full) = $0 { true } else { false } }, "\(outcome)")
        }
        #expect(ledger(bench, .urgent).evicted == evicted)
        #expect(isTaken(bench.commit(.urgent, batches: [1], length: 3_000)))
    }

    /// Only one segment, which is being written, holds what may go: it is ended first.
    @Test func theSegmentBeingWrittenIsEndedBeforeItGoes() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options)
        bench.commit(.bulk, batches: [5])
        while bench.queue.cursor(destination: "main", log: .bulk)?.low == 1 {
            #expect(isTaken(bench.commit(batches: [1], length: 3_000)))
        }
        #expect(ledger(bench, .bulk).evicted == 5)
        let outcome = bench.commit(.bulk)
        bench.checkSums()
        guard case .refused = outcome[0] else { return #expect(try bench.drain(.bulk).events.keys.sorted() == [6]) }
    }

    @Test func whatWasPurgedIsNotCountedAsEvicted() throws {
        let bench = try Bench(MemoryStorage(), Self.options)
        guard case .committed(_, let epoch, _, _) = bench.commit(batches: [5])[0] else {
            Issue.record("refused")
            return
        }
        for sequence in [UInt64(1), 3, 4] {
            #expect(try bench.queue.purge(id: EventID(epoch: epoch, sequence: sequence)) == 1)
        }
        while bench.queue.cursor(destination: "main", log: .normal)?.low == 1 {
            #expect(isTaken(bench.commit(batches: [1], length: 3_000)))
        }
        let found = ledger(bench, .normal)
        #expect(found.purged == 3 && found.evicted == 2)
        #expect(bench.queue.takeMoves().reduce(0) { $0 + $1.count } == found.evicted)
        bench.checkSums()
    }

    @Test func nothingGoesWhileCursorsCannotBeMadeDurable() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options)
        var accepted = 0
        storage.fault = { call in
            switch call {
            case .synchronise("cursors"), .synchronise("cursors.new"): .io
            default: nil
            }
        }
        while isTaken(bench.commit(batches: [1], length: 3_000)) { accepted += 1 }
        #expect(accepted > 100)
        #expect(bench.queue.takeMoves().isEmpty)
        #expect(ledger(bench, .normal) == Ledger())
        #expect(bench.queue.cursorsFailing)
        storage.fault = nil
        try bench.queue.synchroniseCursors()
        for _ in 0..<10 { #expect(isTaken(bench.commit(batches: [1], length: 3_000))) }
        #expect(ledger(bench, .normal).evicted > 0)
        bench.checkSums()
    }

    @Test func theCursorsAreDurableBeforeASegmentGoes() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options, destinations: ["a", "b"])
        var unsynced = false
        var gone = 0
        storage.fault = { call in
            switch call {
            case .write("cursors", _): unsynced = true
            case .synchronise("cursors"), .rename("cursors.new", "cursors"): unsynced = false
            case .unlink(let path) where path.hasSuffix(".segment"),
                .rename(let path, _) where path.hasSuffix(".segment"):
                gone += 1
                #expect(!unsynced)
                unsynced = true
            default: break
            }
            return nil
        }
        for _ in 0..<600 { bench.commit(batches: [1], length: 3_000) }
        #expect(gone > 10)
    }

    /// What is taken back in memory must not stand on the disk either.
    @Test func whatCouldNotBeGivenUpIsNotCountedByTheNextStart() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options)
        while bench.queue.takeMoves().isEmpty { bench.commit(batches: [1], length: 3_000) }
        try bench.queue.synchroniseCursors()
        let before = try #require(bench.queue.cursor(destination: "main", log: .normal))
        storage.fault = { call in
            switch call {
            case .synchronise("cursors"), .synchronise("cursors.new"): .io
            default: nil
            }
        }
        while isTaken(bench.commit(batches: [1], length: 3_000)) {}
        #expect(bench.queue.cursor(destination: "main", log: .normal) == before)
        storage.fault = nil
        try bench.restart(clean: false)
        #expect(bench.queue.cursor(destination: "main", log: .normal) == before)
    }

    /// What may stand on the disk already is not taken back in memory.
    @Test func whatTheDiskMayHaveAsGivenUpIsGivenUp() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.options)
        while bench.queue.takeMoves().isEmpty { bench.commit(batches: [1], length: 3_000) }
        try bench.queue.synchroniseCursors()
        let before = try #require(bench.queue.cursor(destination: "main", log: .normal))
        var isRenamed = false
        storage.fault = { call in
            if call == .rename("cursors.new", "cursors") { isRenamed = true }
            return isRenamed && call == .synchroniseDirectory("") ? .io : nil
        }
        while isTaken(bench.commit(batches: [1], length: 3_000)) {}
        storage.fault = nil
        let after = try #require(bench.queue.cursor(destination: "main", log: .normal))
        #expect(after.low > before.low)
        let moves = bench.queue.takeMoves()
        #expect(moves.last?.low == after.low)
        #expect(moves.reduce(0) { $0 + $1.count } == after.ledger.evicted - before.ledger.evicted)
        try bench.restart(clean: false)
        #expect(bench.queue.cursor(destination: "main", log: .normal) == after)
    }

    @Test func anEventTooLargeForTheQueueCostsNothing() throws {
        let bench = try Bench(MemoryStorage(), Self.options)
        for _ in 0..<100 { bench.commit(batches: [1], length: 3_000) }
        guard case .refused(.full) = bench.commit(batches: [3], length: 1 << 19)[0] else {
            Issue.record("it does not fit")
            return
        }
        #expect(ledger(bench, .normal) == Ledger())
    }

    @Test func aPowerCutAtAnyCallKeepsTheSum() throws {
        let first = UInt64.random(in: 0...UInt64.max / 2)
        for seed in first..<first + 12 { try run(seed: seed) }
    }

    private func run(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let storage = MemoryStorage()
        storage.writesHalf = Bool.random(using: &random)
        var options = Self.options
        options.maximumBytes = 200_000
        options.segmentBytes = 32_768
        options.firstSegmentBytes = 16_384
        let bench = try Bench(storage, options, destinations: ["a", "b"], seed: seed)
        let logs: [LogName] = [.urgent, .normal, .bulk]
        for round in 0..<4 {
            var left = Int.random(in: 50...600, using: &random)
            storage.fault = { _ in
                left -= 1
                return left < 0 ? .io : nil
            }
            for turn in 0..<30 {
                bench.commit(logs.randomElement(using: &random) ?? .normal, batches: [1], length: 6_000)
                let now = Instant(nanoseconds: Int64(round * 100 + turn) * 700_000_000)
                _ = bench.queue.housekeep(at: now, age: bench.age)
            }
            storage.fault = nil
            storage.crash(&random)
            try bench.restart(clean: false)
            #expect(bench.queue.recovery.cursorsReset.isEmpty, "seed \(seed)")
            bench.checkSums()
        }
        for name in ["a", "b"] {
            for log in logs {
                let low = bench.queue.cursor(destination: name, log: log)?.low ?? 1
                let rest = try bench.drain(log, to: name)
                let lost = (bench.accepted[log] ?? [:]).filter { $0.key >= low && rest.events[$0.key] != $0.value }
                #expect(lost.isEmpty, "seed \(seed): \(name) did not get \(lost.keys.sorted()) of \(log.text)")
                #expect(rest.quarantined.allSatisfy { bench.accepted[log]?[$0] == nil }, "seed \(seed)")
            }
        }
        bench.checkSums()
    }

    /// A start has begun to commit the end of a segment again and was cut off: what the rest holds is not all that the
    /// segment before it is needed for, whether or not the header that says so can be read.
    @Test(arguments: [false, true]) func whatACopyLacksIsCountedWithItsOriginal(isDamaged: Bool) throws {
        let storage = MemoryStorage()
        var options = Self.options
        options.keepFree = .bytes(0)
        let bench = try Bench(storage, options)
        for _ in 0..<6 { bench.commit(batches: [1]) }
        try bench.restart()
        let copy = try bench.onlySegment
        let node = try #require(storage.files[copy])
        // Of what it holds again the first batch is left.
        node.bytes.replaceSubrange(8_192..., with: [UInt8](repeating: 0, count: node.bytes.count - 8_192))
        if isDamaged { node.bytes[20] ^= 1 }
        storage.available = 0
        try bench.restart(clean: false)
        let names = try storage.names(in: "logs/normal").filter { $0.hasSuffix(".segment") }
        #expect(names.count == 2)
        if !isDamaged { storage.fault = { $0 == .read(copy, 0) ? .io : nil } }
        bench.commit(.urgent, batches: [1])
        storage.fault = nil
        storage.available = 1 << 40
        #expect(try storage.names(in: "logs/normal").filter { $0.hasSuffix(".segment") }.count == 1)
        let low = try #require(bench.queue.cursor(destination: "main", log: .normal)?.low)
        #expect(ledger(bench, .normal).evicted == low - 1)
        let rest = try bench.drain()
        #expect(rest.quarantined.isEmpty && rest.events.count == 7 - Int(low))
    }
}

import Bytes
import Posix
import Queue
import Testing
import Time

/// The power goes at each durable step of what is done with dead letters.
@Suite struct DeadLetterCrashTests {
    /// What the queue says of its letters after a crash.
    struct Counts: Equatable {
        var dead: UInt64 = 0
        var queued: UInt64 = 0
        var delivered: UInt64 = 0
        var purged: UInt64 = 0
    }

    /// Runs `work` over and over on a new queue of six events, four of them dead letters, and lets the power go at each
    /// call to the disk in turn; `check` is told how far the work came.
    private func sweep(
        _ work: (Bench, inout Int) throws -> Void, check: (Counts, Int, Bench, String) throws -> Void
    ) throws {
        for step in 0... {
            var isOver = false
            for seed in UInt64(0)..<6 {
                let storage = MemoryStorage()
                var options = Bench.smallSegments
                options.lettersPerSlice = seed % 2 == 0 ? 1 : 2
                let bench = try Bench(storage, options, destinations: ["main"], seed: seed)
                bench.commit(batches: [6])
                try bench.queue.bury((1...4).map { try bench.letter($0) })
                _ = try bench.drain()
                try bench.queue.synchroniseCursors()
                var left = step
                storage.fault = { _ in
                    left -= 1
                    return left < 0 ? .io : nil
                }
                var done = 0
                do { try work(bench, &done) } catch is QueueError {}
                isOver = left >= 0
                storage.fault = nil
                var random = SplitMix64(seed: seed)
                storage.crash(&random)
                try bench.restart(clean: false)
                let name = "step \(step), seed \(seed)"
                try check(try counts(bench, name), done, bench, name)
            }
            if isOver { return }
            try #require(step < 200)
        }
    }

    private func counts(_ bench: Bench, _ name: String) throws -> Counts {
        let cursor = try #require(bench.queue.snapshot.cursors.first)
        #expect(cursor.origin + cursor.ledger.total + cursor.queued == 6, "\(name)")
        let letters = bench.queue.deadLetters(limit: 9)
        #expect(letters.filter { !$0.isRetried }.count == Int(cursor.ledger.dead), "\(name)")
        #expect(letters.filter(\.isRetried).count == Int(cursor.queued), "\(name)")
        #expect(try bench.storage.names(in: "dead/main").count == letters.count, "\(name)")
        for letter in letters { #expect(try bench.queue.deadLetter(letter.name) != nil, "\(name)") }
        return Counts(
            dead: cursor.ledger.dead, queued: cursor.queued, delivered: cursor.ledger.delivered,
            purged: cursor.ledger.purged)
    }

    private func name(_ sequence: UInt64) -> DeadLetterName {
        DeadLetterName(destination: "main", log: .normal, sequence: sequence)
    }

    @Test func buryThenSettleLosesNothing() throws {
        for step in 0..<60 {
            for seed in UInt64(0)..<6 {
                let storage = MemoryStorage()
                let bench = try Bench(storage, seed: seed)
                bench.commit(batches: [6])
                var left = step
                storage.fault = { _ in
                    left -= 1
                    return left < 0 ? .io : nil
                }
                do {
                    try bench.queue.bury([bench.letter(2), bench.letter(5)])
                    let dead = [Disposition(.dead, 2...2), Disposition(.delivered, 3...4), Disposition(.dead, 5...5)]
                    bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, 1...1)] + dead)
                    try bench.queue.synchroniseCursors()
                } catch is QueueError {}
                storage.fault = nil
                var random = SplitMix64(seed: seed)
                storage.crash(&random)
                try bench.restart(clean: false)
                let low = try #require(bench.queue.cursor(destination: "main", log: .normal)).low
                let delivery = try bench.drain()
                let letters = bench.queue.deadLetters(limit: 9).map(\.name.sequence)
                for sequence in [UInt64(2), 5] where !letters.contains(sequence) {
                    #expect(delivery.events[sequence] != nil, "step \(step), seed \(seed): \(sequence) is lost, \(low)")
                }
                let ledger = bench.queue.cursor(destination: "main", log: .normal)?.ledger
                #expect(ledger?.dead == UInt64(letters.count) && ledger?.purged == 0, "step \(step), seed \(seed)")
            }
        }
    }

    @Test func aLetterThatAKilledRunLeftIsDurableOnceItCounts() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [2])
        var isKilled = false
        storage.fault = { call in
            guard !isKilled else { return .io }
            if case .rename(_, let path) = call, path.hasSuffix(".letter") { isKilled = true }
            return nil
        }
        #expect(throws: QueueError.self) { try bench.queue.bury([bench.letter(1)]) }
        storage.fault = nil
        try bench.restart(clean: false)
        #expect(bench.queue.deadLetters(limit: 9).count == 1)
        #expect(storage.durableFiles.keys.contains { $0.hasSuffix(".letter") })
    }

    @Test func aDroppedLetterIsPurgedOnce() throws {
        try sweep { bench, done in
            done = Int(try bench.queue.drop([name(1), name(3)]))
        } check: { counts, done, _, name in
            #expect(counts.dead + counts.purged == 4 && counts.delivered == 2, "\(name): \(counts)")
            #expect(done == 0 || counts.purged == 2, "\(name)")
        }
    }

    @Test func aPurgeInSlicesIsCountedOnce() throws {
        try sweep { bench, done in
            _ = try bench.queue.retry([name(2)])
            done = Int(try bench.queue.purge(log: .normal))
        } check: { counts, done, bench, name in
            #expect(counts.dead + counts.purged + counts.queued == 4 && counts.delivered == 2, "\(name): \(counts)")
            #expect(done == 0 || counts.purged == 4, "\(name)")
        }
    }

    @Test func aRetriedLetterIsDeliveredOnce() throws {
        try sweep { bench, done in
            _ = try bench.queue.retry([name(1), name(2), name(4)])
            done = 1
            try bench.queue.resolve([name(1), name(4)])
            done = 2
            try bench.queue.bury([bench.letter(2, detail: [1])])
            done = 3
            _ = try bench.queue.drop([name(3)])
            done = 4
        } check: { counts, done, bench, name in
            let settled = counts.dead + counts.queued + counts.delivered + counts.purged
            #expect(settled == 6 && (2...4).contains(counts.delivered), "\(name): \(counts)")
            if done >= 1 { #expect(counts.queued + counts.delivered >= 4 || done >= 2, "\(name): \(counts)") }
            if done >= 2 { #expect(counts.delivered == 4, "\(name): \(counts)") }
            if done >= 3 { #expect(counts.queued == 0, "\(name): \(counts)") }
            #expect(done < 4 ? counts.purged <= 1 : counts.purged == 1, "\(name): \(counts)")
            #expect(done >= 3 || counts.purged == 0, "\(name): \(counts)")
        }
    }
}

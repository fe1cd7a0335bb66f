import Bytes
import Queue
import Testing
import Time

/// Events expire by the age clock: late, never early.
@Suite struct ExpiryTests {
    private func reads(_ storage: MemoryStorage) -> Int {
        storage.calls.count { if case .read = $0 { true } else { false } }
    }

    @Test(arguments: [(UInt32(0), nil, UInt64.max), (5, nil, 5_000), (0, 7, 7_000), (5, 7, 5_000), (9, 7, 7_000)])
    func anEventIsNotSentOnceItsTimeIsOver(timeToLive: UInt32, maximumAge: Int?, expires: UInt64) throws {
        var options = Bench.smallSegments
        options.maximumAge = maximumAge.map { .seconds($0) }
        let bench = try Bench(MemoryStorage(), options, destinations: ["early", "late"])
        let start = bench.age
        bench.commit(batches: [2, 1], timeToLive: timeToLive)
        // The wall clock of these commits is far behind the age clock, so that it would tell.
        bench.age = expires == .max ? 1 << 60 : start + expires - 1
        #expect(try bench.drain(to: "early").events.count == 3)
        guard expires < .max else { return }
        bench.age = start + expires
        #expect(try bench.drain(to: "late").expired == [1, 2, 3])
        #expect(bench.queue.cursor(destination: "late", log: .normal)?.ledger.expired == 3)
    }

    @Test func whatExpiresAmongOthersIsTold() throws {
        let bench = try Bench(MemoryStorage())
        for turn in 0..<6 { bench.commit(batches: [2], timeToLive: turn % 2 == 0 ? 0 : 1) }
        bench.age += 1_000
        let chunk = try #require(
            try bench.queue.read(.normal, for: "main", from: 1, limit: 1 << 20, age: bench.age))
        #expect(chunk.disposed == [3...4, 7...8, 11...12].map { Disposition(.expired, $0) })
        #expect(chunk.records.map(\.sequence) == [1, 2, 5, 6, 9, 10])
        #expect(
            chunk.dispositions(of: 2...8).map(\.sequences) == [2...2, 3...4, 5...6, 7...8])
    }

    /// The age clock and the boot clock go together here.
    @Test func aDestinationThatIsOfflineDoesNotKeepWhatHasExpired() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["a", "b"])
        let start = bench.age
        bench.commit(batches: [3], timeToLive: 30)
        bench.commit(batches: [2], timeToLive: 60)
        bench.commit(batches: [1])
        bench.commit(batches: [4], timeToLive: 30)
        _ = try bench.queue.read(.normal, for: "a", from: 1, limit: 100, age: bench.age)
        var now = Instant(nanoseconds: 0)
        var turns = 0
        while let next = bench.queue.housekeep(at: now, age: bench.age) {
            for move in bench.queue.takeMoves() {
                let expires: UInt64 = move.low <= 4 ? 30_000 : 60_000
                #expect(bench.age >= start + expires, "\(move) is early")
            }
            now = max(now, next)
            bench.age = start + UInt64((now - Instant(nanoseconds: 0)).milliseconds)
            turns += 1
            if turns > 200 { break }
        }
        #expect(turns < 100, "it does not poll")
        for name in ["a", "b"] {
            let cursor = try #require(bench.queue.cursor(destination: name, log: .normal))
            #expect(cursor.low == 6 && cursor.ledger.expired == 5, "\(cursor)")
        }
        #expect(now < Instant(nanoseconds: 90_000_000_000), "late, but not by much")
        storage.calls.removeAll()
        #expect(bench.queue.housekeep(at: now + .seconds(1_000), age: bench.age + 1_000_000) == nil)
        #expect(reads(storage) == 0, "the head never expires: nothing is looked at again")
        bench.age += 1_000_000
        let rest = try bench.drain(to: "a")
        #expect(rest.events.keys.sorted() == [6] && rest.expired == [7, 8, 9, 10])
    }

    @Test func wholeSegmentsGoUnread() throws {
        let storage = MemoryStorage()
        var options = Bench.smallSegments
        options.maximumAge = .seconds(100)
        let bench = try Bench(storage, options)
        for _ in 0..<120 { bench.commit(batches: [1], length: 2_000) }
        let segments = { try storage.names(in: "logs/normal").filter { $0.hasSuffix(".segment") }.count }
        let before = try segments()
        #expect(before >= 6)
        bench.age += 50_000
        bench.commit(batches: [1])
        bench.housekeep()
        #expect(bench.queue.takeMoves().isEmpty)
        bench.age += 50_000
        storage.calls.removeAll()
        bench.housekeep(from: 100_000_000_000)
        #expect(bench.queue.takeMoves().map(\.low).last == 121)
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger.expired == 120)
        let large = storage.calls.count {
            if case .read(let path, let offset) = $0 { path.hasSuffix(".segment") && offset > 0 } else { false }
        }
        #expect(large <= 2, "only the newest segment is read")
        #expect(try segments() == 1)
        #expect(try bench.drain().events.keys.sorted() == [121])
    }

    @Test func lettersThatExpiryPassesAreToldAsDead() throws {
        var options = Bench.smallSegments
        options.maximumAge = .seconds(100)
        let bench = try Bench(MemoryStorage(), options)
        for _ in 0..<120 { bench.commit(batches: [1], length: 2_000) }
        try bench.queue.bury([bench.letter(7), bench.letter(8)])
        bench.age += 50_000
        bench.commit(batches: [1])
        bench.age += 50_000
        bench.housekeep()
        bench.housekeep(from: 100_000_000_000)
        let ledger = try #require(bench.queue.cursor(destination: "main", log: .normal)).ledger
        #expect(ledger.dead == 2 && ledger.expired == 118)
        let moves = bench.queue.takeMoves()
        #expect(moves.filter { $0.kind == .dead }.reduce(0) { $0 + $1.count } == 2)
        #expect(moves.filter { $0.kind == .expired }.reduce(0) { $0 + $1.count } == 118)
        #expect(moves.last?.low == 121)
    }

    @Test func aReadFromTheMiddleOfABigBatchFindsItsPlace() throws {
        var options = Bench.smallSegments
        options.segmentBytes = 8 << 20
        let bench = try Bench(MemoryStorage(), options)
        bench.commit(batches: [4_000], length: 1_000)
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, 1...3_500)])
        try bench.restart()
        let chunk = try bench.queue.read(.normal, for: "main", from: 3_501, limit: 256 << 10, age: bench.age)
        #expect(chunk?.records.first?.sequence == 3_501)
    }

    @Test func nothingExpiresEarlyWhateverTheOrder() throws {
        let first = UInt64.random(in: 0...UInt64.max / 2)
        for seed in first..<first + 10 { try run(seed: seed) }
    }

    private func run(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var options = Bench.smallSegments
        options.maximumAge = Bool.random(using: &random) ? .seconds(40) : nil
        let bench = try Bench(MemoryStorage(), options, destinations: ["a", "b"], seed: seed)
        var ends: [UInt64: UInt64] = [:]
        var now = Instant(nanoseconds: 0)
        for _ in 0..<80 {
            let last = bench.queue.snapshot.logs.first?.accepted ?? 0
            let timeToLive = [0, 0, 1, 10, 30, 300].randomElement(using: &random) ?? 0
            let count = Int.random(in: 1...4, using: &random)
            bench.commit(batches: [count], timeToLive: UInt32(timeToLive))
            let span = min(timeToLive == 0 ? Int.max : timeToLive, options.maximumAge == nil ? Int.max : 40)
            for sequence in last + 1...last + UInt64(count) {
                ends[sequence] = span == .max ? .max : bench.age + UInt64(span) * 1_000
            }
            let step = Int.random(in: 0...4_000, using: &random)
            bench.age += UInt64(step)
            now = now + .milliseconds(step)
            for _ in 0..<4 {
                guard let next = bench.queue.housekeep(at: now, age: bench.age), next <= now else { break }
            }
            for move in bench.queue.takeMoves() {
                for sequence in move.low - move.count..<move.low {
                    #expect(ends[sequence] ?? 0 <= bench.age, "seed \(seed): \(sequence) expired early")
                }
            }
            guard Int.random(in: 0..<10, using: &random) == 0 else { continue }
            let got = try bench.drain(to: "b")
            #expect(got.expired.allSatisfy { ends[$0] ?? 0 <= bench.age }, "seed \(seed): expired early")
            #expect(got.events.keys.allSatisfy { ends[$0] ?? 0 > bench.age }, "seed \(seed): sent too late")
        }
        bench.checkSums()
    }
}

import Bytes
import Posix
import Queue
import Testing
import Time

/// What is said of a queue that changes while it is looked at.
@Suite struct LiveInspectionTests {
    @Test func whatIsSettledAndDroppedBetweenTheCursorsAndTheListingIsNoDamage() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<60 { bench.commit(batches: [4], length: 900) }
        try expectNoDamage(storage, bench) { call in
            guard call == .names("logs/normal") else { return false }
            try bench.settle(0.5)
            return true
        }
    }

    /// That both listings of a look at all leave out a segment can be: it began while the second was made.
    @Test(arguments: [[0], [1], [0, 1]])
    func listingsThatLeaveOutASegmentAreNotBelieved(which: [Int]) throws {
        for index in 0..<4 {
            let storage = MemoryStorage()
            let bench = try Bench(storage)
            for _ in 0..<60 { bench.commit(batches: [4], length: 900) }
            let path = storage.files.keys.filter { $0.hasSuffix(".segment") }.sorted()[index]
            let busy = BusyStorage(storage)
            var count = 0
            busy.edit = { folder, names in
                guard folder == "logs/normal" else { return names }
                count += 1
                return which.contains(count - 1) ? names.filter { !path.hasSuffix($0) } : names
            }
            #expect(try Inspection(busy).verify().faults.isEmpty, "segment \(index)")
            for everything in [true, false] where which.count == 1 {
                count = 0
                let found = try Looked(Export(Inspection(busy), everything: everything))
                #expect(found.unreadable == 0 && found.damages.isEmpty, "segment \(index)")
                // Where the first is left out it began later, and where the last is, it ended earlier.
                guard index > 0 || !everything, index < 3 else { continue }
                #expect(found.events == bench.accepted)
            }
        }
    }

    @Test(arguments: [1, 2])
    func aRestartBesideIsNoDamage(opening: Int) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<20 { bench.commit(batches: [4], length: 900) }
        // The newest segment is the copy that a start has made; the next start takes it away.
        try bench.restart(clean: false)
        var count = 0
        try expectNoDamage(storage, bench) { call in
            guard call == .open(try bench.onlySegment) else { return false }
            count += 1
            guard count == opening else { return false }
            count = 0
            try bench.restart(clean: false)
            bench.commit()
            return true
        }
    }

    @Test func aLetterThatIsSentAgainMeanwhileIsExported() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<60 { bench.commit(batches: [4], length: 900) }
        let letter = DeadLetter(
            destination: "main", log: .normal, id: EventID(epoch: 77, sequence: 3),
            event: try #require(bench.accepted[.normal]?[3]), acceptedAt: nil, status: 400, attempts: 1,
            at: WallTime(milliseconds: 6_000), detail: [])
        try bench.queue.bury([letter])
        _ = try bench.drain()
        bench.housekeep()
        let busy = BusyStorage(storage)
        var retried: UInt64 = 0
        busy.before = { call in
            guard case .open(let path) = call, path.hasSuffix(".letter"), retried == 0 else { return }
            retried += try bench.queue.retry([letter.name])
        }
        let found = try Looked(Export(Inspection(busy), everything: true))
        #expect(retried == 1 && found.events[.normal]?[3] == letter.event && found.events[.normal]?[2] == nil)
    }

    @Test func whatIsMissedByOneReadOnlyIsThere() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [20], length: 900)
        let path = try bench.onlySegment
        let busy = BusyStorage(storage)
        var reads = 0
        busy.before = { call in
            guard case .read(path, _) = call else { return }
            for turn in [reads - 1, reads] where turn == 0 || turn == 1 {
                storage.files[path]?.bytes[4_096 + 2_000 + turn * 6_000] ^= 1
            }
            reads += 1
        }
        let found = try Inspection(busy).verify()
        #expect(found.faults.isEmpty && found.logs[0].gaps.isEmpty && reads == 2)
    }

    /// The promise of both: whatever a daemon does meanwhile, what they name is damaged, and what is queued all the
    /// while is exported.
    @Test(arguments: [UInt64(1), 2])
    func aDaemonAtWorkIsNoDamage(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var exported = 0
        for turn in 0..<6 {
            let storage = MemoryStorage()
            var options = Bench.smallSegments
            if turn % 4 == 0 { options.whenFull = .dropOldest }
            let bench = try Bench(storage, options, seed: seed &* 100 &+ UInt64(turn))
            for _ in 0..<30 { bench.commit(batches: [3], length: 900) }
            let busy = BusyStorage(storage)
            let rest = 2 + random.next() % 12
            busy.before = { _ in
                guard random.next() % (rest + 1) == 0 else { return }
                try? bench.work(&random)
            }
            busy.mixesListings = { random.next() % 2 == 0 }
            let faults = try Inspection(busy).verify().faults
            #expect(faults.isEmpty, "seed \(seed), turn \(turn): \(faults)")
            let low = bench.queue.cursor(destination: "main", log: .normal)?.low ?? 1
            let accepted = bench.accepted[.normal] ?? [:]
            let found = try Looked(Export(Inspection(busy), everything: turn % 2 == 0))
            #expect(found.unreadable == 0 && found.damages.isEmpty, "seed \(seed), turn \(turn): \(found.damages)")
            let settled = bench.queue.cursor(destination: "main", log: .normal)?.low ?? 1
            for (sequence, event) in accepted where sequence >= settled {
                #expect(found.events[.normal]?[sequence] == event, "seed \(seed), turn \(turn): event \(sequence)")
            }
            for (sequence, event) in found.events[.normal] ?? [:] {
                #expect(bench.accepted[.normal]?[sequence] == event)
                exported += 1
            }
            #expect(low <= settled)
        }
        #expect(exported > 100)
    }

    /// Looks, both ways, while `body` is done once, before the first call for which it returns true.
    private func expectNoDamage(
        _ storage: MemoryStorage, _ bench: Bench, _ body: @escaping (MemoryStorage.Call) throws -> Bool
    ) throws {
        for everything in [false, true] {
            let busy = BusyStorage(storage)
            var isDone = false
            busy.before = { call in if !isDone { isDone = try body(call) } }
            let accepted = bench.accepted[.normal] ?? [:]
            let found = try Looked(Export(Inspection(busy), everything: everything))
            #expect(isDone && found.unreadable == 0 && found.damages.isEmpty, "\(found.damages)")
            let low = try #require(bench.queue.cursor(destination: "main", log: .normal)).low
            for (sequence, event) in accepted where sequence >= low {
                #expect(found.events[.normal]?[sequence] == event)
            }
        }
        let busy = BusyStorage(storage)
        var isDone = false
        busy.before = { call in if !isDone { isDone = try body(call) } }
        let faults = try Inspection(busy).verify().faults
        #expect(faults.isEmpty, "\(faults)")
    }
}

/// What an export has given.
private struct Looked {
    var events: [LogName: [UInt64: [UInt8]]] = [:]
    let unreadable: UInt64
    let damages: [Verification.Damage]

    init(_ export: Export) throws {
        while let chunk = try export.next() {
            for record in chunk.records {
                let earlier = events[chunk.log, default: [:]].updateValue(
                    Array(chunk.bytes[record.range]), forKey: record.sequence)
                #expect(earlier == nil, "event \(record.sequence) comes twice")
            }
        }
        unreadable = export.unreadable
        damages = export.damages
    }
}

extension Bench {
    /// Settles a share of what is queued, and drops what all have.
    fileprivate func settle(_ share: Double) throws {
        let cursor = try #require(queue.cursor(destination: "main", log: .normal))
        let end = cursor.low + UInt64(share * Double(accepted[.normal]?.count ?? 0))
        while let low = queue.cursor(destination: "main", log: .normal)?.low, low < end,
            let chunk = try queue.read(.normal, for: "main", from: low, limit: 10_000, age: age)
        {
            queue.settle(destination: "main", log: .normal, chunk.dispositions(of: chunk.sequences))
        }
        housekeep()
    }

    /// Does something that a daemon does.
    fileprivate func work(_ random: inout SplitMix64) throws {
        switch random.next() % 12 {
        case 0, 1, 2, 3, 4: commit(batches: [Int(random.next() % 5) + 1, 2], length: 900)
        case 5, 6, 7, 8: try settle(Double(random.next() % 4) / 10)
        case 9, 10: housekeep()
        default: try restart(clean: random.next() % 2 == 0)
        }
    }
}

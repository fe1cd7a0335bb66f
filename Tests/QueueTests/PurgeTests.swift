import Bytes
import Posix
import Queue
import Testing
import Time

@Suite struct PurgeTests {
    private let marketing = LogName.consent("marketing")

    /// Files of a queue in which the bytes of an event can be found.
    private func files(_ storage: MemoryStorage, holding event: [UInt8]) -> [String] {
        storage.files.filter { $0.value.bytes.holds(event) }.keys.sorted()
    }

    /// On a disk without room what was counted goes once there is some, but nothing that came since and waits.
    @Test(arguments: [false, true]) func aPurgeThatFailedIsFinished(came: Bool) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(marketing, batches: [3])
        let event = try #require(bench.accepted[marketing]?[2])
        storage.fault = { call in if case .write("logs/consent-marketing/spare", _) = call { .noSpace } else { nil } }
        #expect(throws: QueueError.self) { try bench.queue.purge(log: marketing) }
        bench.housekeep()
        #expect(files(storage, holding: event).count == 1)
        storage.fault = nil
        if came { bench.commit(marketing, batches: [2]) }
        bench.housekeep(from: 100_000_000_000)
        #expect(try bench.drain(marketing).events.keys.sorted() == (came ? [4, 5] : []))
        bench.housekeep(from: 200_000_000_000)
        #expect(files(storage, holding: event).isEmpty)
        bench.checkSums()
        try bench.restart()
        bench.checkSums()
    }

    @Test func aCategoryIsGoneFromEveryFile() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["main", "other", "late"])
        bench.commit(.normal, batches: [3])
        for _ in 0..<150 { bench.commit(marketing, batches: [1]) }
        // Delivered, retired and recycled; damaged and copied aside; buried; and all that is left queued.
        for turn in 1...3 {
            for destination in ["main", "other", "late"] {
                let low = bench.queue.cursor(destination: destination, log: marketing)?.low ?? 1
                let chunk = try #require(
                    try bench.queue.read(marketing, for: destination, from: low, limit: 8_192, age: bench.age))
                bench.queue.settle(destination: destination, log: marketing, chunk.dispositions(of: chunk.sequences))
            }
            for _ in 0..<16 { bench.commit(marketing, batches: [1]) }
            bench.housekeep(from: Int64(turn) * 100_000_000_000)
        }
        bench.commit(marketing, batches: [4])
        let low = try #require(bench.queue.cursor(destination: "main", log: marketing)?.low)
        try bench.queue.bury([bench.letter(low, of: marketing), bench.letter(low + 1, of: marketing)])
        bench.queue.settle(destination: "main", log: marketing, [Disposition(.dead, low...low)])
        try bench.damage(low + 3, of: marketing)
        _ = try bench.queue.read(marketing, for: "main", from: low + 1, limit: 1 << 20, age: bench.age)
        #expect(try storage.names(in: "quarantine").count == 1)
        let spare = try #require(storage.files["logs/consent-marketing/spare"])
        #expect((bench.accepted[marketing] ?? [:]).contains { spare.bytes.holds($0.value) }, "it is recycled")

        #expect(try bench.queue.purge(log: marketing) == 202 + 1 - low)

        for (sequence, event) in bench.accepted[marketing] ?? [:] {
            #expect(files(storage, holding: event) == [], "\(sequence)")
        }
        #expect(try storage.names(in: "quarantine").isEmpty)
        #expect(try storage.names(in: "dead/main").isEmpty)
        let moves = bench.queue.takeMoves()
        #expect(moves.map(\.low) == [203, 203, 203] && moves.allSatisfy { $0.kind == .purged })
        for _ in 0..<2 {
            bench.checkSums()
            for cursor in bench.queue.snapshot.cursors where cursor.log == marketing {
                #expect(cursor.queued == 0 && cursor.ledger.dead == 0)
                #expect(cursor.ledger.purged == 202 + 1 - low)
            }
            try bench.restart()
        }
        #expect(bench.queue.recovery.damages.isEmpty)
        #expect(try bench.queue.purge(log: marketing) == 0)
        #expect(try bench.drain(.normal).events == bench.accepted[.normal])
        bench.commit(marketing, batches: [2])
        #expect(try bench.drain(marketing).events.keys.sorted() == [203, 204])
    }

    /// What was kept to be committed again must not come back with the next failure.
    @Test func aFailureAfterwardsBringsNothingBack() throws {
        for byID in [false, true] {
            let storage = MemoryStorage()
            let bench = try Bench(storage)
            bench.commit(marketing, batches: [3])
            let events = try #require(bench.accepted[marketing])
            let purged: [UInt64] = byID ? [2] : [1, 2, 3]
            if byID {
                #expect(try bench.queue.purge(id: bench.id(2, of: marketing)) == 1)
            } else {
                #expect(try bench.queue.purge(log: marketing) == 3)
            }
            for _ in 0..<2 {
                var isFirst = true
                storage.fault = { call in
                    guard case .synchronise(let path) = call, path.hasSuffix(".segment"), isFirst else { return nil }
                    isFirst = false
                    return .io
                }
                bench.commit(marketing, batches: [1])
                #expect(!isFirst)
            }
            storage.fault = nil
            for sequence in purged { #expect(files(storage, holding: try #require(events[sequence])) == []) }
            try bench.restart()
            let delivery = try bench.drain(marketing)
            #expect(delivery.purged == (byID ? [2] : []))
            #expect(delivery.events.keys.sorted() == (byID ? [1, 3, 4, 5] : [4, 5]))
        }
    }

    @Test func anEventIsGoneAndTheOthersStay() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["main", "other"])
        for size in [3, 40, 5] { bench.commit(batches: [size, 2]) }
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, 1...4)])
        let wanted: [UInt64] = [2, 20, 21, 52]
        let ids = try wanted.map { try bench.id($0) }
        storage.calls.removeAll()
        #expect(try bench.queue.purge(ids: ids) == 4)
        #expect(storage.calls.filter { if case .rename = $0 { true } else { false } }.count == 1, "one rewrite")
        for sequence in wanted {
            #expect(files(storage, holding: try #require(bench.accepted[.normal]?[sequence])) == [])
        }
        bench.commit(batches: [2])
        try bench.restart()
        #expect(bench.queue.recovery.damages.isEmpty)
        #expect(try bench.queue.purge(ids: ids) == 0, "what is gone already is not told again")
        let rest = (bench.accepted[.normal] ?? [:]).filter { !wanted.contains($0.key) }
        let other = try bench.drain(to: "other")
        #expect(other.events == rest && other.purged == wanted)
        let main = try bench.drain(to: "main")
        #expect(main.events == rest.filter { $0.key > 4 } && main.purged == Array(wanted[1...]))
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger.purged == 3)
        #expect(bench.queue.cursor(destination: "other", log: .normal)?.ledger.purged == 4)
    }

    /// The disk fails at each call in turn; the next purge tells of all that the two took out, and a third of nothing.
    @Test func aPurgeThatFailedIsToldByTheNext() throws {
        var failures = 0
        for step in 0... {
            let storage = MemoryStorage()
            let bench = try Bench(storage)
            for size in [3, 2] { bench.commit(batches: [size]) }
            try bench.restart()
            bench.commit(batches: [3])
            let ids = try [1, 2, 4, 7].map { try bench.id($0) }
            let other = try bench.id(5)
            try bench.queue.bury([bench.letter(1)])
            bench.queue.settle(destination: "main", log: .normal, [Disposition(.dead, 1...1)])
            var left = step
            storage.fault = { _ in
                left -= 1
                return left < 0 ? .io : nil
            }
            var isOver = false
            do {
                #expect(try bench.queue.purge(ids: ids) == 4)
                isOver = true
            } catch {
                failures += 1
            }
            storage.fault = nil
            #expect(try bench.queue.purge(ids: ids) == (isOver ? 0 : 4), "step \(step)")
            #expect(try bench.queue.purge(ids: ids) == 0, "step \(step)")
            #expect(try bench.queue.purge(ids: ids + [other]) == 1, "step \(step)")
            if isOver { break }
            try #require(step < 200)
        }
        #expect(failures > 5)
    }

    @Test func whatIsNotThereIsNotPurged() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [4])
        try bench.queue.bury([bench.letter(3)])
        let before = storage.files.mapValues(\.bytes)
        for sequence in [UInt64(0), 3, 5, .max] {
            #expect(try bench.queue.purge(id: EventID(epoch: 12, sequence: sequence)) == 0)
        }
        #expect(storage.files.mapValues(\.bytes) == before)
        #expect(try bench.drain().events.count == 3)
    }

    /// A commit made again leaves its events in two segments.
    @Test func bothCopiesGo() throws {
        for failing in 1...2 {
            let storage = MemoryStorage()
            let bench = try Bench(storage)
            bench.commit(batches: [3])
            var left = failing
            storage.fault = { call in
                guard case .synchronise(let path) = call, path.hasSuffix(".segment"), left > 0 else { return nil }
                left -= 1
                return .io
            }
            bench.commit(batches: [2])
            bench.commit(batches: [2])
            storage.fault = nil
            let event = try #require(bench.accepted[.normal]?[2])
            let late = try #require(bench.accepted[.normal]?[4])
            #expect(files(storage, holding: event).count >= 2)
            for isRestarted in [false, true] {
                if isRestarted { try bench.restart() }
                #expect(try bench.queue.purge(ids: [bench.id(isRestarted ? 4 : 2)]) == 1)
                #expect(files(storage, holding: isRestarted ? late : event) == [])
            }
            let delivery = try bench.drain()
            #expect(delivery.purged == [2, 4])
            #expect(delivery.events.count == (bench.accepted[.normal]?.count ?? 0) - 2)
        }
    }

    /// Each start commits the newest events again.
    @Test func allCopiesOfManyStartsGo() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<6 {
            bench.commit(batches: [2])
            try bench.restart(clean: false)
        }
        for sequence in (1...UInt64(12)).reversed() where sequence % 3 == 0 {
            let event = try #require(bench.accepted[.normal]?[sequence])
            #expect(!files(storage, holding: event).isEmpty)
            #expect(try bench.queue.purge(id: bench.id(sequence)) == 1)
            #expect(files(storage, holding: event) == [], "\(sequence)")
            try bench.restart(clean: false)
            #expect(files(storage, holding: event) == [], "\(sequence)")
        }
        #expect(bench.queue.recovery.damages.isEmpty)
        let delivery = try bench.drain()
        #expect(delivery.purged == [3, 6, 9, 12] && delivery.events.count == 8)
    }

    /// Records whose batch has neither a header nor a trailer can be read, and so can be purged.
    @Test func anEventWithoutABatchGoes() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<3 { bench.commit(batches: [4]) }
        let path = try bench.onlySegment
        let node = try #require(storage.files[path])
        let first = try #require(node.bytes.place(ofRecord: 5))
        let last = try #require(node.bytes.place(ofRecord: 9))
        // The header lies before the records, the trailer of the batch before the next one's header.
        let header = first / 4_096 * 4_096
        let trailer = last / 4_096 * 4_096 - 136
        for place in [header + 20, trailer + 20] { node.bytes[place] ^= 4 }
        let event = try #require(bench.accepted[.normal]?[6])
        #expect(try bench.queue.purge(id: bench.id(6)) == 1)
        #expect(files(storage, holding: event) == [])
        let delivery = try bench.drain()
        #expect(delivery.purged == [6] && delivery.events.count == 11)
    }

    /// What is purged says itself which epoch it has, where nothing in the segment does any more.
    @Test func anEventWithoutABatchAndWithoutAHeaderGoes() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [4])
        let id = try bench.id(2)
        let node = try #require(storage.files[try bench.onlySegment])
        let header = try #require(node.bytes.place(ofRecord: 1)) / 4_096 * 4_096
        let end = roundedUp(try #require(node.bytes.lastIndex { $0 != 0 }), to: 4_096)
        for place in [20, header + 20, end - 136 + 20] { node.bytes[place] ^= 4 }
        let event = try #require(bench.accepted[.normal]?[2])
        #expect(files(storage, holding: event) != [])
        #expect(try bench.queue.purge(id: id) == 1)
        #expect(files(storage, holding: event) == [])
    }

    /// A segment that has gone a moment ago must not come back with the event when the power goes.
    @Test func aSegmentThatHasGoneStaysAway() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<40 { bench.commit(batches: [1]) }
        let id = try bench.id(1)
        let event = try #require(bench.accepted[.normal]?[1])
        let holds = { (files: [String: MemoryStorage.Node]) in
            files.contains { $0.key.hasSuffix(".segment") && $0.value.bytes.holds(event) }
        }
        _ = try bench.drain()
        bench.housekeep()
        #expect(!holds(storage.files) && holds(storage.durableFiles))
        #expect(try bench.queue.purge(id: id) == 0)
        #expect(!holds(storage.durableFiles))
    }

    @Test func damageBesideAHoleStaysAsItIs() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [9])
        let ids = try [4, 7].map { try bench.id($0) }
        try bench.damage(2)
        try bench.damage(4)
        _ = try bench.queue.read(.normal, for: "main", from: 1, limit: 1 << 20, age: bench.age)
        let copies = try storage.names(in: "quarantine")
        #expect(copies.count == 2)
        #expect(try bench.queue.purge(ids: ids) == 2)
        #expect(try storage.names(in: "quarantine").count == 1, "the copy of the damaged event that was purged goes")
        // A damaged hole is a hole.
        let path = try bench.onlySegment
        let node = try #require(storage.files[path])
        let seven = try #require(node.bytes.place(ofRecord: 7))
        node.bytes[seven + 50] ^= 1
        try bench.restart()
        let delivery = try bench.drain()
        #expect(delivery.quarantined == [2] && delivery.purged == [4, 7])
        #expect(delivery.events.keys.sorted() == [1, 3, 5, 6, 8, 9])
    }

    @Test func aDeadLetterIsPurgedById() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["main", "other"])
        bench.commit(batches: [4])
        let event = try #require(bench.accepted[.normal]?[2])
        let id = try bench.id(2)
        let letters = ["main", "other"].map {
            DeadLetter(
                destination: $0, log: .normal, id: id, event: event, acceptedAt: nil, status: 400, attempts: 1,
                at: WallTime(milliseconds: 0), detail: [])
        }
        try bench.queue.bury(letters)
        bench.queue.settle(
            destination: "main", log: .normal, [Disposition(.delivered, 1...1), Disposition(.dead, 2...2)])
        #expect(try bench.queue.purge(id: id) == 1)
        #expect(files(storage, holding: event) == [])
        #expect(bench.queue.deadLetters(limit: 9).isEmpty)
        let ledger = bench.queue.cursor(destination: "main", log: .normal)?.ledger
        #expect(ledger?.dead == 0 && ledger?.purged == 1)
        #expect(try bench.drain(to: "other").purged == [2])
        #expect(try bench.drain(to: "main").events.count == 2)
    }

    /// That a letter is gone may not be durable yet, where the run that removed it ended before.
    @Test(arguments: [true, false]) func aLetterThatWasRemovedDoesNotComeBack(byID: Bool) throws {
        for seed in UInt64(1)...6 {
            let storage = MemoryStorage()
            let bench = try Bench(storage)
            bench.commit(batches: [3])
            let id = try bench.id(1)
            let letter = try bench.letter(1)
            try bench.queue.bury([letter])
            bench.queue.settle(destination: "main", log: .normal, [Disposition(.dead, 1...1)])
            try bench.queue.synchroniseCursors()
            storage.fault = { $0 == .synchroniseDirectory("dead/main") ? .io : nil }
            #expect(throws: QueueError.self) { try bench.queue.drop([letter.name]) }
            storage.fault = nil
            try bench.restart(clean: false)
            _ = byID ? try bench.queue.purge(id: id) : try bench.queue.purge(log: .normal)
            var random = SplitMix64(seed: seed)
            storage.crash(&random)
            try bench.restart(clean: false)
            let event = try #require(bench.accepted[.normal]?[1])
            #expect(files(storage, holding: event) == [], "seed \(seed)")
            bench.checkSums()
        }
    }

    /// The power goes at each call to the disk in turn.
    @Test func aCrashLeavesTheOldOrTheNew() throws {
        for byID in [true, false] {
            for step in 0... {
                var isOver = false
                for seed in UInt64(0)..<4 { isOver = try crash(byID: byID, step: step, seed: seed) }
                if isOver { break }
                try #require(step < 200)
            }
        }
    }

    private func crash(byID: Bool, step: Int, seed: UInt64) throws -> Bool {
        let name = "\(byID ? "id" : "log"), step \(step), seed \(seed)"
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["main", "other"], seed: seed)
        for _ in 0..<20 { bench.commit(marketing, batches: [1]) }
        bench.commit(.normal, batches: [2])
        let wanted = byID ? [UInt64(5), 19] : Array(1...20)
        let ids = try wanted.map { try bench.id($0, of: marketing) }
        try bench.queue.bury([bench.letter(2, of: marketing)])
        bench.queue.settle(
            destination: "main", log: marketing, [Disposition(.delivered, 1...1), Disposition(.dead, 2...2)])
        try bench.queue.synchroniseCursors()
        var left = step
        storage.fault = { _ in
            left -= 1
            return left < 0 ? .io : nil
        }
        var isPurged = false
        do {
            let count = byID ? try bench.queue.purge(ids: ids) : try bench.queue.purge(log: marketing)
            #expect(count == wanted.count, "\(name)")
            isPurged = true
        } catch {}
        let isOver = left >= 0
        storage.fault = nil
        var random = SplitMix64(seed: seed)
        storage.crash(&random)
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.isEmpty, "\(name): \(bench.queue.recovery.damages)")
        #expect(bench.queue.recovery.strays.isEmpty, "\(name): \(bench.queue.recovery.strays)")
        if isPurged {
            for sequence in wanted {
                let event = try #require(bench.accepted[marketing]?[sequence])
                #expect(files(storage, holding: event) == [], "\(name): \(sequence)")
            }
        }
        bench.checkSums()
        let letters = UInt64(bench.queue.deadLetters(limit: 9).count)
        #expect(bench.queue.cursor(destination: "main", log: marketing)?.ledger.dead == letters, "\(name)")
        for (destination, settled) in [("main", 2), ("other", 0)] {
            let low = try #require(bench.queue.cursor(destination: destination, log: marketing)).low
            let delivery = try bench.drain(marketing, to: destination)
            #expect(delivery.quarantined.isEmpty, "\(name)")
            let events = bench.accepted[marketing] ?? [:]
            for sequence in UInt64(1)...20 where sequence >= low && delivery.events[sequence] != events[sequence] {
                #expect(wanted.contains(sequence) && delivery.purged.contains(sequence), "\(name): \(sequence)")
            }
            if byID {
                #expect(low == settled + 1, "\(name)")
            } else {
                #expect([UInt64(settled + 1), 21].contains(low))
            }
            if isPurged { #expect(Set(delivery.events.keys).isDisjoint(with: wanted), "\(name)") }
        }
        #expect(try bench.drain(.normal).events == bench.accepted[.normal], "\(name)")
        return isOver
    }
}

extension Bench {
    /// The id of an event that a destination has not settled, as reading gives it.
    func id(_ sequence: UInt64, of log: LogName = .normal) throws -> EventID {
        let low = destinations.compactMap { queue.cursor(destination: $0, log: log)?.low }.min() ?? 1
        let reader = destinations.first { queue.cursor(destination: $0, log: log)?.low == low } ?? "main"
        let chunk = try #require(try queue.read(log, for: reader, from: sequence, limit: 1, age: age))
        #expect(chunk.records.first?.sequence == sequence)
        return EventID(epoch: chunk.epoch, sequence: sequence)
    }

    /// Flips a bit of an event in the newest segment that holds it.
    func damage(_ sequence: UInt64, of log: LogName = .normal) throws {
        let memory = try #require(storage as? MemoryStorage)
        let folder = "logs/\(log.text)/"
        for path in memory.files.keys.filter({ $0.hasPrefix(folder) && $0.hasSuffix(".segment") }).sorted().reversed() {
            guard let node = memory.files[path], let place = node.bytes.place(ofRecord: sequence) else { continue }
            node.bytes[place + 60] ^= 1
            return
        }
        Issue.record("no segment holds \(sequence)")
    }
}

extension [UInt8] {
    /// True where all of the bytes stand somewhere in these.
    func holds(_ part: [UInt8]) -> Bool {
        guard count >= part.count, let first = part.first else { return false }
        var at = 0
        while let start = span.firstIndex(of: first, from: at), start + part.count <= count {
            if self[start..<start + part.count].elementsEqual(part) { return true }
            at = start + 1
        }
        return false
    }

    /// Where the record of an event of the benches' length stands.
    fileprivate func place(ofRecord sequence: UInt64) -> Int? {
        stride(from: 0, to: count - RecordLayout.headerSize, by: 8).first {
            loadLittleEndian(at: $0 + 8, as: UInt64.self) == sequence
                && loadLittleEndian(at: $0 + 4, as: UInt32.self) == 300
        }
    }
}

import Bytes
import Posix
import Queue
import Testing
import Time

/// Bulk is refused first, urgent last, whatever it is that there is no more of (rule 15).
@Suite struct PrecedenceTests {
    /// What ends the room.
    enum Bound: CaseIterable {
        case size, fileSystem, keepFree, others, files
    }

    private static func bench(_ bound: Bound, seed: UInt64 = 1) throws -> (Bench, MemoryStorage) {
        let storage = MemoryStorage()
        var options = QueueOptions(maximumBytes: 64 << 20, keepFree: .percent(0))
        switch bound {
        case .size: options = QueueOptions(maximumBytes: 2 << 20, keepFree: .percent(0))
        case .fileSystem: storage.capacity = 2 << 20
        case .keepFree:
            storage.capacity = 4 << 20
            options.keepFree = .percent(50)
        case .others: break
        case .files: break
        }
        return (try Bench(storage, options, seed: seed), storage)
    }

    private func isTaken(_ outcomes: [CommitOutcome]) -> Bool {
        if case .committed? = outcomes.first { true } else { false }
    }

    /// Has the room end that does not end by itself.
    private func end(_ bound: Bound, _ storage: MemoryStorage) {
        switch bound {
        case .others: storage.available = 0
        case .files: storage.mostFiles = storage.files.count + storage.folders.count
        case .size, .fileSystem, .keepFree: break
        }
    }

    @Test(arguments: [Bound.size, .fileSystem, .keepFree], [3_000, 50_000])
    func urgentEventsAreTakenWhenNoOthersAre(bound: Bound, length: Int) throws {
        let (bench, _) = try Self.bench(bound)
        for log in [LogName.bulk, .consent("ads"), .normal] {
            var turns = 0
            while isTaken(bench.commit(log, length: length)) {
                turns += 1
                if turns % 7 == 0 { bench.housekeep() }
            }
        }
        let refused = bench.queue.condition.refused
        #expect(refused == [.bulk, .normal])
        let before = bench.queue.bytesOnDisk
        var urgent = 0
        while isTaken(bench.commit(.urgent, length: length)) { urgent += length }
        #expect(urgent >= 30_000, "they have a twentieth to themselves, and what room others had in their segments")
        #expect(!isTaken(bench.commit(.normal, length: length)) && !isTaken(bench.commit(.bulk, length: length)))
        #expect(bench.queue.condition.refused == [.bulk, .normal, .urgent] && bench.queue.bytesOnDisk >= before)
        for log in bench.accepted.keys { #expect(try bench.drain(log).events == bench.accepted[log]) }
        bench.housekeep()
        #expect(!bench.queue.condition.refused.contains(.normal))
        for log in [LogName.urgent, .normal] { #expect(isTaken(bench.commit(log, length: length))) }
    }

    /// Whatever comes and goes, and whoever takes the room: no lane is taken where a more urgent one was just refused.
    @Test(arguments: Bound.allCases, 1...4 as ClosedRange<UInt64>)
    func noLaneIsTakenWhereAMoreUrgentOneIsRefused(bound: Bound, seed: UInt64) throws {
        let (bench, storage) = try Self.bench(bound, seed: seed)
        var random = SplitMix64(seed: seed)
        var posts: [(log: LogName, isTaken: Bool)] = []
        let usual = [LogName.normal, .bulk, .consent("ads")].randomElement(using: &random) ?? .normal
        for turn in 0..<120 {
            if turn == 50 { end(bound, storage) }
            if Int.random(in: 0..<30, using: &random) == 0 { try bench.restart(clean: Bool.random(using: &random)) }
            if Int.random(in: 0..<30, using: &random) == 0, turn < 90 { _ = try bench.drain(usual) }
            if Int.random(in: 0..<4, using: &random) == 0 { bench.housekeep() }
            for _ in 0..<Int.random(in: 0..<6, using: &random) { bench.commit(usual, length: 20_000) }
            let length = [300, 3_000, 9_000].randomElement(using: &random) ?? 300
            posts = [.urgent, usual == .bulk ? .normal : usual, .bulk].map { log in
                (log, isTaken(bench.commit(log, length: length)))
            }
            for (first, second) in zip(posts, posts.dropFirst()) where !first.isTaken {
                #expect(!second.isTaken, "turn \(turn), \(length) bytes: \(second.log.text) after \(first.log.text)")
            }
        }
        #expect(posts.contains { !$0.isTaken }, "it ends full")
        for log in bench.accepted.keys {
            _ = try bench.drain(log)
            #expect(bench.given["main"]?[log] == bench.accepted[log], "\(log.text) drains without any room")
        }
        storage.available = 1 << 40
        storage.mostFiles = .max
        bench.housekeep()
        for log in [LogName.urgent, .normal] { #expect(isTaken(bench.commit(log))) }
    }

    /// A quota shows in no figure of the file system.
    @Test func whatOnlyTheSystemKnowsOfEndsTheOthersAsWell() throws {
        let (bench, storage) = try Self.bench(.others)
        bench.commit(.normal)
        storage.fault = { call in
            switch call {
            case .open(let path) where path.hasPrefix("logs/urgent"): .quota
            default: nil
            }
        }
        #expect(!isTaken(bench.commit(.urgent)))
        #expect(!isTaken(bench.commit(.normal)), "though there is room in its segment")
        #expect(bench.queue.condition.refused == LogName.lanes.reversed())
        storage.fault = nil
        bench.housekeep()
        #expect(isTaken(bench.commit(.urgent)) && isTaken(bench.commit(.normal)))
    }

    /// A file system that keeps the room of what is not used: no urgent event has it, and so no other.
    @Test func whereTheRoomOfOthersIsNotToBeHadTheyAreRefused() throws {
        let (bench, storage) = try Self.bench(.others)
        bench.commit(.normal)
        bench.housekeep()
        let path = try bench.onlySegment
        storage.available = 0
        storage.fault = { call in
            if case .write(path, let offset) = call, offset > 8_192 { Errno(code: 95) } else { nil }
        }
        #expect(!isTaken(bench.commit(.urgent)))
        #expect(!isTaken(bench.commit(.normal)))
        storage.fault = nil
        storage.available = 1 << 40
        bench.housekeep()
        #expect(isTaken(bench.commit(.urgent)) && isTaken(bench.commit(.normal)))
    }
}

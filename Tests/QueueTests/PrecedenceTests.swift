import Bytes
import Posix
import Queue
import Testing

/// Bulk is refused first and urgent last, whatever it is that there is no more of (rule 15).
@Suite struct PrecedenceTests {
    /// What ends the room.
    enum Bound: CaseIterable {
        case size, fileSystem, keepFree
    }

    private static func bench(_ bound: Bound) throws -> (Bench, MemoryStorage) {
        let storage = MemoryStorage()
        var options = QueueOptions(maximumBytes: 64 << 20, keepFree: .percent(0))
        switch bound {
        case .size: options = QueueOptions(maximumBytes: 4 << 20, keepFree: .percent(0))
        case .fileSystem: storage.capacity = 4 << 20
        case .keepFree:
            storage.capacity = 8 << 20
            options.keepFree = .percent(50)
        }
        return (try Bench(storage, options), storage)
    }

    private func isTaken(_ outcomes: [CommitOutcome]) -> Bool {
        if case .committed? = outcomes.first { true } else { false }
    }

    /// Posts until one event is refused; how many bytes were taken.
    private func fill(_ bench: Bench, _ log: LogName, length: Int, housekeeping: Int) -> Int {
        var bytes = 0
        var turns = 0
        while isTaken(bench.commit(log, length: length)) {
            bytes += length
            turns += 1
            if turns % housekeeping == 0 { bench.housekeep() }
        }
        return bytes
    }

    @Test(arguments: Bound.allCases, [1_000, 60_000])
    func aLogLeavesTheMoreUrgentTheirShare(bound: Bound, length: Int) throws {
        for housekeeping in [1, 5, .max] {
            let (bench, _) = try Self.bench(bound)
            let bulk = fill(bench, .bulk, length: length, housekeeping: housekeeping)
            let normal = fill(bench, .normal, length: length, housekeeping: housekeeping)
            #expect(!isTaken(bench.commit(.bulk, length: length)))
            let full = bench.queue.snapshot
            #expect(full.refused == [.bulk, .normal] && full.storage == .full && full.unwritable == nil)
            #expect((4 << 20..<(4 << 20) + 65_536).contains(full.bound))
            #expect(full.keptFree / 4_000_000 == (bound == .keepFree ? 1 : 0))
            let urgent = fill(bench, .urgent, length: length, housekeeping: housekeeping)
            #expect(!isTaken(bench.commit(.normal, length: length)) && !isTaken(bench.commit(.bulk, length: length)))
            #expect(bulk > 700_000 && normal > 100_000 && urgent > 25_000, "\(bulk), \(normal), \(urgent)")
            #expect(bench.queue.snapshot.refused == LogName.lanes.reversed() && bench.queue.snapshot.unwritable != nil)
            for log in LogName.lanes { #expect(try bench.drain(log).events == bench.accepted[log]) }
            for log in LogName.lanes { #expect(isTaken(bench.commit(log, length: length)), "\(log.text), again") }
            #expect(bench.queue.snapshot.refused == [] && bench.queue.snapshot.storage == .good)
        }
    }

    /// In a small queue the next dead letter is kept more room for than the shares leave.
    @Test(arguments: [1 << 20, 2 << 20, 4 << 20, 6 << 20] as [UInt64], [200, 2_000])
    func aSmallQueueLeavesTheUrgentTheirShare(size: UInt64, length: Int) throws {
        var options = QueueOptions(maximumBytes: size, keepFree: .percent(0))
        options.largestEventBytes = 256 << 10
        let bench = try Bench(MemoryStorage(), options)
        let bulk = fill(bench, .bulk, length: length, housekeeping: .max)
        let normal = fill(bench, .normal, length: length, housekeeping: .max)
        #expect(bulk > 0 && normal > 0 && !isTaken(bench.commit(.bulk, length: length)))
        #expect(bench.queue.snapshot.refused == [.bulk, .normal])
        var urgent = 0
        while isTaken(bench.commit(.urgent, length: length)) { urgent += 1 }
        #expect(urgent > 2, "\(urgent) events")
        #expect(!isTaken(bench.commit(.normal, length: length)) && !isTaken(bench.commit(.bulk, length: length)))
        for log in LogName.lanes { #expect(try bench.drain(log).events == bench.accepted[log]) }
    }

    /// Other files fill the file system: what less urgent logs have ready goes to the more urgent, and not the other
    /// way round.
    @Test(arguments: [LogName.normal, .bulk, .consent("ads")], [true, false])
    func roomThatIsReadyGoesToTheMoreUrgent(usual: LogName, hasSpare: Bool) throws {
        for next in [LogName.urgent, .normal] where next == .urgent || usual != .normal {
            let (bench, storage) = try Self.bench(.fileSystem)
            var options = bench.options
            options.maximumBytes = 512 << 20
            bench.options = options
            try bench.restart()
            if hasSpare { for _ in 0..<40 { bench.commit(usual, length: 9_000) } } else { bench.commit(usual) }
            if hasSpare { bench.housekeep() }
            storage.capacity = storage.usedBytes
            // A folder takes room, too.
            storage.fault = { [unowned storage] call in
                if case .createDirectory = call, storage.usedBytes == storage.capacity { .noSpace } else { nil }
            }
            var taken = 0
            while isTaken(bench.commit(next, length: 3_000)) { taken += 1 }
            #expect(taken > 50, "\(taken) events of \(next.text)")
            #expect(!isTaken(bench.commit(usual, length: 9_000)))
            for log in [usual, next] { #expect(try bench.drain(log).events == bench.accepted[log]) }
            storage.capacity = 1 << 30
            bench.housekeep()
            for log in [usual, next] { #expect(isTaken(bench.commit(log, length: 9_000))) }
        }
    }

    @Test func theLessUrgentTakesNothingThatIsReadyForTheMoreUrgent() throws {
        let (bench, storage) = try Self.bench(.fileSystem)
        for _ in 0..<40 { bench.commit(.urgent, length: 9_000) }
        bench.housekeep()
        let path = "logs/urgent/spare"
        let before = try #require(storage.files[path]).bytes.count
        #expect(before > 100_000)
        storage.capacity = storage.usedBytes
        #expect(!isTaken(bench.commit(.bulk)) && !isTaken(bench.commit(.normal)))
        #expect(storage.files[path]?.bytes.count == before)
        #expect(isTaken(bench.commit(.urgent, length: 30_000)))
    }

    /// Others have all of the file system: a log whose events are all settled cannot shrink, and says so.
    @Test func whereASettledLogCannotShrinkItIsRefused() throws {
        let (bench, storage) = try Self.bench(.fileSystem)
        bench.commit(.normal)
        storage.capacity = storage.usedBytes
        while isTaken(bench.commit(.normal, length: 3_000)) {}
        _ = try bench.drain()
        #expect(!isTaken(bench.commit(.normal, length: 3_000)))
        #expect(bench.queue.snapshot.refused == [.bulk, .normal, .urgent] && bench.queue.snapshot.storage == .full)
        storage.capacity += 8 << 20
        #expect(bench.queue.snapshot.refused == [] && bench.queue.snapshot.storage == .good)
        #expect(isTaken(bench.commit(.normal, length: 3_000)))
        #expect(try bench.drain().events.count == 1)
    }

    @Test(arguments: [4_096, 24_576, 65_536] as [UInt64]) func lessThanNothingIsNoRoom(missing: UInt64) {
        #expect(StorageSpace(total: 32 << 20, available: 0 &- missing).available == 0)
        #expect(StorageSpace(total: 32 << 20, available: 32 << 20).available == 32 << 20)
    }

    /// A file system that keeps the room of what is not used.
    @Test func whereReadyRoomIsNotToBeHadItStaysWithItsLog() throws {
        let (bench, storage) = try Self.bench(.fileSystem)
        bench.commit(.normal)
        let path = try bench.onlySegment
        storage.capacity = storage.usedBytes
        storage.fault = { call in
            if case .write(path, let offset) = call, offset > 4_096 { Errno(code: 95) } else { nil }
        }
        #expect(!isTaken(bench.commit(.urgent)))
        storage.fault = nil
        #expect(isTaken(bench.commit(.normal, length: 9_000)))
        #expect(try bench.drain().events == bench.accepted[.normal])
    }
}

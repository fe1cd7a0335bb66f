import Posix
import Queue
import Testing
import Time

/// Queues of the least size that the configuration takes: an empty one must have room for events.
@Suite struct SmallQueueTests {
    private static let least = QueueOptions(maximumBytes: 1 << 20, keepFree: .percent(0))

    private func isTaken(_ outcomes: [CommitOutcome]) -> Bool {
        if case .committed? = outcomes.first { true } else { false }
    }

    private func bytes(_ storage: MemoryStorage) -> Int { storage.files.values.reduce(0) { $0 + $1.bytes.count } }

    @Test(arguments: [1, 2, 3], [300, 200_000])
    func aDeliveredQueueNeverRefusesHoweverOftenItStarts(mebibytes: UInt64, length: Int) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, QueueOptions(maximumBytes: mebibytes << 20, keepFree: .percent(0)))
        for turn in 0..<20 {
            for log in LogName.lanes {
                for _ in 0..<2 {
                    #expect(isTaken(bench.commit(log, length: length)), "start \(turn), \(log.text)")
                    #expect(bytes(storage) <= Int(mebibytes) << 20)
                    _ = try bench.drain(log)
                }
                bench.housekeep(from: Int64(turn) * 100_000_000_000)
            }
            try bench.restart(clean: turn % 2 == 0)
            #expect(bench.queue.recovery.damages.isEmpty)
            for log in LogName.lanes {
                let accepted = bench.queue.snapshot.logs.first { $0.name == log }?.accepted
                #expect(accepted == UInt64(2 * turn + 2), "\(log.text): the count outlives the segments")
            }
        }
    }

    @Test func largeEventsAreRefusedWhileTheQueueHoldsThemOnly() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.least)
        for round in 0..<5 {
            for log in LogName.lanes {
                var taken = 0
                while isTaken(bench.commit(log, length: 200_000)) { taken += 1 }
                #expect(taken >= 3, "round \(round), \(log.text)")
                #expect(bytes(storage) <= 1 << 20)
                let delivery = try bench.drain(log)
                #expect(delivery.events.count == taken && delivery.quarantined.isEmpty)
            }
        }
        #expect(isTaken(bench.commit(.bulk)))
        bench.housekeep()
        try bench.restart()
        #expect(try bench.drain(.bulk).events.count == 1)
    }

    @Test func aSpareIsNotMadeWhereItDoesNotFit() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.least)
        while isTaken(bench.commit(.normal, batches: [20])) { bench.housekeep() }
        #expect(bench.queue.snapshot.bytes <= 1 << 20)
        #expect(isTaken(bench.commit(.urgent, length: 12_000)), "room that nothing but a spare takes is given up")
    }

    @Test func aSpareIsKeptWhereGivingItUpWouldNotHelp() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.least)
        repeat { bench.housekeep() } while isTaken(bench.commit(.normal)) && bench.queue.snapshot.bytes < 660_000
        bench.housekeep()
        #expect(storage.files["logs/normal/spare"] != nil)
        #expect(!isTaken(bench.commit(.bulk, length: 250_000)))
        #expect(storage.files["logs/normal/spare"] != nil)
    }

    /// The disk is told to be full as long as what came last was refused, though something smaller would fit.
    @Test func aRefusalShowsUntilItWouldFit() throws {
        let bench = try Bench(MemoryStorage(), Self.least)
        while isTaken(bench.commit(length: 100_000)) {}
        #expect(bench.queue.condition.storage == .full)
        #expect(isTaken(bench.commit()))
        #expect(bench.queue.condition.storage == .good)
        #expect(!isTaken(bench.commit(length: 100_000)))
        #expect(bench.queue.condition.storage == .full)
        _ = try bench.drain()
        #expect(bench.queue.condition.storage == .good)
    }

    /// A segment whose events a start committed again must stay until they are settled: it is no room to be had.
    @Test func whatMustStayIsNotCountedAsRoom() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, Self.least)
        bench.commit(batches: [3])
        try bench.restart(clean: false)
        storage.available = 0
        while isTaken(bench.commit(length: 1_000)) {}
        #expect(bench.queue.condition.storage == .full)
    }
}

import Bytes
import Gates
import Posix
import Queue
import Reachability
import Testing
import Time

@Suite struct LogTests {
    @Test func eventsComeBackAsTheyWentIn() throws {
        let folder = try Folder()
        let bench = try Bench(FileStorage(directory: folder.path))
        #expect(bench.queue.recovery.isNew)
        for sizes in [[1], [3, 1], [500], [1, 1, 1]] { bench.commit(batches: sizes) }
        bench.commit(.urgent, batches: [2], length: 20)
        bench.commit(.consent("marketing"), batches: [4])
        #expect(bench.queue.logNames == [.urgent, .normal, .consent("marketing")])
        for log in bench.queue.logNames {
            let delivery = try bench.drain(log)
            #expect(delivery.events == bench.accepted[log])
            #expect(delivery.quarantined.isEmpty)
            #expect(delivery.contexts == [Bench.context])
        }
    }

    @Test func whatIsCommittedWhileTheClockIsNotSynchronisedIsWhole() throws {
        let bench = try Bench(MemoryStorage())
        bench.wall = WallTime(milliseconds: RecordLayout.noWallTime)
        for _ in 0..<3 { bench.commit(batches: [2]) }
        #expect(try bench.drain(limit: 1).quarantined.isEmpty)
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.isEmpty && bench.queue.recovery.salvaged == 0)
    }

    @Test func oneCommitTakesBatchesOfSeveralLogsAndSyncsEachOnce() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        var batches = [LogName.urgent, .normal, .urgent].map { bench.batch($0, [bench.event(50), bench.event(60)]) }
        _ = bench.queue.commit(&batches, at: WallTime(milliseconds: 1), age: 1)
        storage.calls.removeAll()
        batches = [LogName.urgent, .normal, .urgent].map { bench.batch($0, [bench.event(50), bench.event(60)]) }
        let outcomes = bench.queue.commit(&batches, at: WallTime(milliseconds: 1), age: 1)
        let firsts = outcomes.map { if case .committed(_, _, let first, _) = $0 { first } else { UInt64(0) } }
        #expect(firsts == [5, 3, 7])
        let syncs = storage.calls.filter { if case .synchronise = $0 { true } else { false } }
        #expect(syncs.count == 2)
        #expect(batches.allSatisfy { $0.count == 0 && $0.records.isEmpty })
    }

    @Test func theContextOfEachBatchStaysWithItsEvents() throws {
        let bench = try Bench(MemoryStorage())
        let online = AcceptContext(connectionType: .wifi, closed: [])
        var batches = [
            bench.batch(.normal, [bench.event(40)]), bench.batch(.normal, [bench.event(40)], context: online),
        ]
        _ = bench.queue.commit(&batches, at: WallTime(milliseconds: 1), age: 1)
        let chunk = try #require(try bench.queue.read(.normal, for: "main", from: 1, limit: 1 << 18, age: 0))
        #expect(chunk.records.map { chunk.contexts[$0.context] } == [Bench.context, online])
        #expect(chunk.records.map(\.acceptedAt) == [WallTime(milliseconds: 5_000), WallTime(milliseconds: 5_000)])
    }

    @Test(arguments: [true, false]) func aRestartLosesNothingAndGivesNewIds(clean: Bool) throws {
        let folder = try Folder()
        let bench = try Bench(FileStorage(directory: folder.path))
        bench.commit(batches: [3, 500, 1])
        try bench.restart(clean: clean)
        var expected = expectedRecovery
        expected.keySeed = bench.queue.recovery.keySeed
        #expect(bench.queue.recovery == expected)
        bench.commit(batches: [2])
        try bench.restart(clean: clean)
        let delivery = try bench.drain()
        #expect(delivery.events == bench.accepted[.normal])
        #expect(delivery.events.count == 506)
        #expect(delivery.ids[1]?.epoch == delivery.ids[504]?.epoch)
        #expect(delivery.ids[504]?.epoch != delivery.ids[505]?.epoch)
    }

    private var expectedRecovery: RecoveryReport {
        var report = RecoveryReport()
        report.age = 20_000
        return report
    }

    @Test func aReadGoesOnWhereTheLastOneEnded() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<40 { bench.commit(batches: [7, 40]) }
        storage.calls.removeAll()
        let delivery = try bench.drain(limit: 4_096)
        #expect(delivery.events == bench.accepted[.normal])
        #expect(delivery.chunks > 100)
        let reads = storage.calls.filter { if case .read = $0 { true } else { false } }
        #expect(reads.count <= delivery.chunks * 2 + 4, "no chunk searches its segment from the start")
    }

    @Test func aBigEventAndABigBatchGetSegmentsOfTheirSize() throws {
        var options = QueueOptions(maximumBytes: 256 << 20)
        options.firstSegmentBytes = 64 * 1_024
        options.segmentBytes = 64 * 1_024
        let bench = try Bench(MemoryStorage(), options)
        bench.commit(batches: [1], length: 4 << 20)
        bench.commit(batches: [1], length: 100)
        bench.commit(batches: [400], length: 1_000)
        let delivery = try bench.drain()
        #expect(delivery.events == bench.accepted[.normal])
        #expect(bench.queue.snapshot.logs.first?.events == 0)
    }

    @Test func nothingIsReadBeforeItIsDurable() throws {
        let bench = try Bench(MemoryStorage())
        #expect(try bench.queue.read(.normal, for: "main", from: 1, limit: 100, age: 0) == nil)
        bench.commit(batches: [2])
        #expect(try bench.queue.read(.normal, for: "main", from: 3, limit: 100, age: 0) == nil)
        #expect(try bench.queue.read(.normal, for: "main", from: 2, limit: 100, age: 0)?.sequences == 2...2)
    }

    @Test(arguments: [512, 4_096, 65_536]) func anyBlockWillDo(block: Int) throws {
        var options = QueueOptions(maximumBytes: 64 << 20, block: block)
        let bench = try Bench(MemoryStorage(), options)
        bench.commit(batches: [1, 3, 30])
        options.block = block == 512 ? 4_096 : 512
        bench.options = options
        try bench.restart()
        bench.commit(batches: [1, 3, 30])
        try bench.restart()
        #expect(try bench.drain().events == bench.accepted[.normal])
        #expect(bench.queue.recovery.damages.isEmpty)
    }

    @Test func manySegmentsAreReadInOrder() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        var options = QueueOptions(maximumBytes: 64 << 20)
        options.firstSegmentBytes = 16_384
        options.segmentBytes = 32_768
        let bench = try Bench(MemoryStorage(), options, seed: seed)
        for turn in 0..<60 {
            let sizes = (0..<Int.random(in: 1...3, using: &random)).map { _ in Int.random(in: 1...20, using: &random) }
            bench.commit(batches: sizes, length: Int.random(in: 20...700, using: &random))
            if Int.random(in: 0..<4, using: &random) == 0 {
                _ = bench.queue.housekeep(at: Instant(nanoseconds: 0), age: 0)
            }
            if turn % 20 == 10 { try bench.restart(clean: Bool.random(using: &random)) }
        }
        let delivery = try bench.drain(limit: 10_000)
        #expect(delivery.events == bench.accepted[.normal], "seed \(seed)")
        #expect(delivery.quarantined.isEmpty, "seed \(seed)")
    }

    @Test func repeatsCanBeToldAfterARestart() throws {
        let bench = try Bench(MemoryStorage())
        var batch = OpenBatch(log: .normal, context: Bench.context)
        for number in 0..<3 {
            let key = number == 1 ? DuplicateKey.none : DuplicateKey(low: UInt64(number) + 1, high: 9)
            _ = batch.append(bench.event(30).span, acceptedAt: nil, duplicateKey: key)
        }
        var batches = [batch]
        let outcomes = bench.queue.commit(&batches, at: WallTime(milliseconds: 1), age: 1)
        guard case .committed(_, let epoch, _, _) = outcomes[0] else {
            Issue.record("not committed")
            return
        }
        try bench.restart()
        #expect(bench.queue.recovery.keyed.map(\.key.low) == [1, 3])
        #expect(bench.queue.recovery.keyed.last?.id == EventID(epoch: epoch, sequence: 3))
        #expect(
            try bench.queue.read(.normal, for: "main", from: 1, limit: 1 << 18, age: 0)?.records.first?.acceptedAt
                == nil)
    }

    /// A clock that is not synchronised has no time, and one that is has any of the years that are written.
    @Test(arguments: [
        WallTime(milliseconds: RecordLayout.noWallTime), WallTime(milliseconds: -1), WallTime(milliseconds: 0),
        WallTime(year: 9_999, month: 12, day: 31, secondOfDay: 86_399, millisecond: 999),
    ])
    func whateverTheClockSays(wall: WallTime) throws {
        let bench = try Bench(MemoryStorage())
        bench.wall = wall
        bench.commit(batches: [3, 4])
        try bench.restart()
        #expect(bench.queue.recovery.damages.isEmpty)
        #expect(bench.queue.recovery.salvaged == 0)
        bench.commit(batches: [2])
        #expect(try bench.drain().events == bench.accepted[.normal])
        #expect(bench.queue.takeDamages().isEmpty)
    }
}

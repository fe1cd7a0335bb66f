import Bytes
import Posix
import Queue
import Testing
import Time

@Suite struct FailureTests {
    private func refusal(_ outcomes: [CommitOutcome]) -> QueueError? {
        if case .refused(let error)? = outcomes.first { error } else { nil }
    }

    @Test(arguments: [true, false]) func afterAnErrorTheLastBatchIsCommittedAgainToANewFile(half: Bool) throws {
        let storage = MemoryStorage()
        storage.writesHalf = half
        let bench = try Bench(storage)
        bench.commit(batches: [2])
        bench.commit(batches: [3])
        let old = try bench.onlySegment
        storage.calls.removeAll()
        var failed = false
        storage.fault = { call in
            guard !failed, half ? Self.writes(call) : Self.syncs(call) else { return nil }
            failed = true
            return .io
        }
        bench.commit(batches: [4])
        #expect(failed)
        guard case .failed(let operation, "/queue/" + old, _, .io)? = bench.queue.takeFailures().first else {
            Issue.record("an error that another try made good is told all the same")
            return
        }
        #expect(operation == (half ? .write : .synchronise))
        #expect(bench.queue.takeFailures().isEmpty)
        let names = try storage.names(in: "logs/normal")
        #expect(names.contains("0000000000000002-00000000000000000003.segment"), "from the last acknowledged batch on")
        #expect(storage.calls.filter { $0 == .synchronise(old) }.count == (half ? 0 : 1), "it is never synced again")
        #expect(try bench.drain().events == bench.accepted[.normal])
        // What the failed file acknowledged last may be gone: the new one has it.
        let node = try #require(storage.files[old])
        node.bytes.replaceSubrange(
            8_192..<node.bytes.count, with: [UInt8](repeating: 0, count: node.bytes.count - 8_192))
        for clean in [true, false] {
            bench.destinations.append("late\(clean)")
            try bench.restart(clean: clean)
            let late = try bench.drain(to: "late\(clean)")
            #expect(late.events == bench.accepted[.normal])
            #expect(late.quarantined.isEmpty)
        }
    }

    private static func writes(_ call: MemoryStorage.Call) -> Bool {
        if case .write(let path, let offset) = call { path.contains("logs/") && offset > 0 } else { false }
    }

    private static func syncs(_ call: MemoryStorage.Call) -> Bool {
        if case .synchronise(let path) = call { path.contains("logs/") } else { false }
    }

    /// To a byte, or to the header and the first batch, which has again what the segment before had to give up.
    @Test(arguments: [false, true]) func aCopyInAnEarlierSegmentMakesDamageGood(toTheBeginning: Bool) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [2])
        bench.commit(batches: [3])
        var failed = false
        storage.fault = { call in
            guard !failed, Self.syncs(call) else { return nil }
            failed = true
            return .io
        }
        bench.commit(batches: [1])
        let node = try #require(storage.files["logs/normal/0000000000000002-00000000000000000003.segment"])
        let place = try #require(node.bytes.indices.first { node.bytes[$0...].starts(with: Array("\"n\":4".utf8)) })
        if toTheBeginning {
            for index in 0..<8_192 { node.bytes[index] = 0 }
        } else {
            node.bytes[place + 4] ^= 1
        }
        let delivery = try bench.drain()
        #expect(delivery.events == bench.accepted[.normal])
        #expect(delivery.quarantined.isEmpty)
    }

    @Test func whatWasRefusedIsNotDeliveredAndItsNumbersAreGivenToOthers() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [2])
        storage.fault = { Self.syncs($0) ? .io : nil }
        let error = try #require(refusal(bench.commit(batches: [3])))
        guard case .failed(.write, _, _, .io) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(!error.endsStart)
        #expect(bench.queue.snapshot.storage == .failing)
        #expect(bench.queue.snapshot.lastError == error)
        #expect(refusal(bench.commit(batches: [3])) != nil)
        storage.fault = nil
        bench.commit(batches: [1])
        #expect(bench.queue.snapshot.storage == .good)
        #expect(bench.accepted[.normal]?.keys.sorted() == [1, 2, 3])
        #expect(try bench.drain().events == bench.accepted[.normal])
        bench.destinations = ["late"]
        try bench.restart()
        #expect(try bench.drain(to: "late").events == bench.accepted[.normal])
    }

    @Test func failuresLeaveNoFilesBehind() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [2])
        storage.fault = { Self.syncs($0) ? .io : nil }
        for _ in 0..<50 { bench.commit(batches: [3]) }
        #expect(try storage.names(in: "logs/normal").count <= 2)
        storage.fault = { if case .synchroniseDirectory = $0 { .io } else { nil } }
        for _ in 0..<50 { bench.commit(batches: [3]) }
        #expect(try storage.names(in: "logs/normal").count <= 2)
    }

    /// SQLite's loop: the Nth call fails, for N = 1, 2, 3, … until it no longer matters.
    @Test(arguments: [false, true]) func anyCallMayFailOnceOrForGood(forGood: Bool) throws {
        for n in 0..<120 {
            let storage = MemoryStorage()
            storage.writesHalf = n % 2 == 1
            let bench = try Bench(storage)
            var left = n
            var isOver = false
            storage.fault = { _ in
                left -= 1
                guard left < 0, !isOver else { return nil }
                isOver = !forGood
                return n % 3 == 0 ? .noSpace : .io
            }
            for turn in 0..<12 {
                bench.commit(batches: [1, 2])
                _ = try? bench.drain()
                _ = bench.queue.housekeep(at: Instant(nanoseconds: Int64(turn) * 2_000_000_000), age: 0)
            }
            if left >= 0 { return }
            storage.fault = nil
            bench.commit(batches: [1])
            bench.destinations = ["late"]
            try bench.restart(clean: n % 2 == 0)
            let late = try bench.drain(to: "late")
            let oldest = bench.queue.cursor(destination: "late", log: .normal)?.origin ?? 0
            for (sequence, event) in bench.accepted[.normal] ?? [:] where sequence > oldest {
                #expect(late.events[sequence] == event, "call \(n), event \(sequence)")
            }
            let known = bench.queue.cursor(destination: "main", log: .normal)
            #expect((known?.low ?? 1) > oldest, "nothing went before it was delivered")
            bench.checkSums()
        }
        Issue.record("the loop did not come to its end")
    }

    @Test func lanesAreRefusedAtTheirShareAndTakenAgainAfterDraining() throws {
        var options = QueueOptions(maximumBytes: 4 << 20)
        options.firstSegmentBytes = 64 * 1_024
        options.segmentBytes = 64 * 1_024
        let storage = MemoryStorage()
        let bench = try Bench(storage, options)
        for (log, share) in [(LogName.bulk, 80), (.normal, 95), (.urgent, 100)] {
            var refused: QueueError?
            for _ in 0..<400 where refused == nil {
                refused = refusal(bench.commit(log, batches: [40]))
                _ = bench.queue.housekeep(at: Instant(nanoseconds: 0), age: 0)
            }
            guard case .full(log, let bytes, let limit) = try #require(refused) else {
                Issue.record("\(refused as Any)")
                return
            }
            #expect(limit <= 4 << 20 && bytes <= limit)
            #expect(bytes > UInt64(share - 4) * (4 << 20) / 100)
            #expect(bench.queue.snapshot.bytes <= 4 << 20)
        }
        while refusal(bench.commit(batches: [1])) == nil {}
        #expect(bench.queue.snapshot.storage == .full)
        #expect(storage.files.values.reduce(0) { $0 + $1.bytes.count } <= 4 << 20)
        for log in LogName.lanes { #expect(try bench.drain(log).events == bench.accepted[log]) }
        bench.housekeep()
        for log in LogName.lanes { #expect(refusal(bench.commit(log, batches: [40])) == nil) }
        #expect(bench.queue.snapshot.storage == .good)
    }

    @Test func aFullFileSystemIsLeftItsRoom() throws {
        let storage = MemoryStorage()
        var options = Bench.smallSegments
        options.keepFree = .bytes(1 << 30)
        let bench = try Bench(storage, options)
        bench.commit(batches: [2])
        storage.available = 1 << 30
        var refused: QueueError?
        for _ in 0..<40 where refused == nil { refused = refusal(bench.commit(batches: [10])) }
        #expect(refused == .noRoom(.normal, available: 1 << 30, keep: 1 << 30, reserved: 0))
        #expect(bench.queue.snapshot.storage == .full)
        #expect(
            bench.queue.snapshot.lastError == .noRoom(.urgent, available: 1 << 30, keep: 1 << 30, reserved: 0))
        storage.available = 1 << 31
        #expect(bench.queue.snapshot.storage == .good)
        #expect(refusal(bench.commit(batches: [10])) == nil)
        #expect(try bench.drain().events == bench.accepted[.normal])
    }

    @Test func fullIsWhatTheQueueIsNotWhatTheNewestCommitMet() throws {
        let storage = MemoryStorage()
        var options = Bench.smallSegments
        options.maximumBytes = 2 << 20
        let bench = try Bench(storage, options)
        while refusal(bench.commit(batches: [40])) == nil {}
        while refusal(bench.commit(batches: [1])) == nil {}
        #expect(bench.queue.snapshot.storage == .full)
        #expect(refusal(bench.commit(.urgent)) == nil)
        #expect(bench.queue.snapshot.storage == .full, "the normal lane is refused still")
        let now = Instant(nanoseconds: 0)
        #expect(bench.queue.housekeep(at: now, age: 0).map { $0 <= now + .seconds(1) } == true, "it is looked at again")
        _ = try bench.drain()
        bench.housekeep()
        #expect(bench.queue.snapshot.storage == .good, "nobody has posted since")
        #expect(bench.queue.snapshot.lastError == nil)
    }

    @Test(arguments: [Errno.io, .noSpace], [true, false])
    func whatFailedIsTriedAgainWithoutAPost(errno: Errno, first: Bool) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        if !first { bench.commit(batches: [2]) }
        storage.fault = { Self.syncs($0) ? errno : nil }
        #expect(refusal(bench.commit(batches: [1])) != nil)
        bench.housekeep()
        #expect(bench.queue.snapshot.storage == (errno == .io ? .failing : .full))
        storage.fault = nil
        bench.housekeep(from: 100_000_000_000)
        #expect(bench.queue.snapshot.storage == .good)
        bench.commit(batches: [1])
        #expect(try bench.drain().events == bench.accepted[.normal])
        bench.destinations = ["late"]
        try bench.restart()
        #expect(try bench.drain(to: "late").events == bench.accepted[.normal])
    }

    /// A limit to the size of files, below which an empty segment is.
    @Test(arguments: [false, true]) func whatIsTriedInVainLeavesNoFiles(first: Bool) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        if !first { bench.commit(batches: [2]) }
        storage.fault = { call in if case .write(_, 4_096...) = call { .fileTooLarge } else { nil } }
        for second in 0..<20 {
            #expect(refusal(bench.commit(batches: [400])) != nil)
            _ = bench.queue.housekeep(at: Instant(nanoseconds: Int64(second) * 1_000_000_000), age: 0)
            _ = bench.queue.housekeep(at: Instant(nanoseconds: Int64(second) * 1_000_000_000 + 999_000_000), age: 0)
        }
        #expect(try storage.names(in: "logs/normal").count <= 2)
        storage.fault = nil
        bench.commit(batches: [2])
        #expect(try bench.drain().events == bench.accepted[.normal])
    }

    /// Each log that could not be read is tried, though another still fails.
    @Test func aLogThatCannotBeReadKeepsNoOtherFromBeingTried() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for log in [LogName.bulk, .normal] { bench.commit(log, batches: [3]) }
        bench.queue.close()
        storage.fault = { call in
            if case .names(let path) = call, path.hasPrefix("logs/") { .io } else { nil }
        }
        try bench.restart(clean: false)
        storage.fault = { $0 == .names("logs/bulk") ? .io : nil }
        for second in 0..<3 {
            _ = bench.queue.housekeep(at: Instant(nanoseconds: Int64(second) * 1_100_000_000), age: bench.age)
        }
        #expect(try bench.drain(.normal).events == bench.accepted[.normal])
        let outcome = bench.commit(.bulk)[0]
        #expect(bench.accepted[.bulk]?.count == 3, "\(outcome)")
        storage.fault = nil
        bench.commit(.bulk)
        #expect(try bench.drain(.bulk).events == bench.accepted[.bulk])
    }
}

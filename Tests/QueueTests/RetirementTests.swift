import Bytes
import Posix
import Queue
import Testing
import Time

@Suite struct RetirementTests {
    private func segments(_ storage: MemoryStorage) throws -> [String] {
        try storage.names(in: "logs/normal").filter { $0.hasSuffix(".segment") }
    }

    @Test func aSegmentGoesWhenAllArePastItAndTheCursorsAreDurable() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["a", "b"])
        for _ in 0..<60 { bench.commit(batches: [1]) }
        let before = try segments(storage)
        #expect(before.count >= 4)
        _ = try bench.drain(to: "a")
        bench.housekeep()
        #expect(try segments(storage) == before, "b still needs them")
        storage.calls.removeAll()
        _ = try bench.drain(to: "b")
        bench.housekeep()
        #expect(try segments(storage) == [before[before.count - 1]])
        let order = storage.calls.filter {
            switch $0 {
            case .write("cursors", _), .synchronise("cursors"): true
            case .unlink(let path), .rename(let path, _): path.hasSuffix(".segment")
            default: false
            }
        }
        let firstGone = try #require(
            order.firstIndex { if case .unlink = $0 { true } else if case .rename = $0 { true } else { false } })
        let lastWrite = try #require(order.lastIndex { if case .write = $0 { true } else { false } })
        #expect(order[lastWrite..<firstGone].contains(.synchronise("cursors")))
        bench.commit(batches: [2])
        #expect(try bench.drain(to: "a").events.count == 2)
    }

    @Test func aStartRemovesNothingBeforeTheCursorsAreDurable() throws {
        let storage = MemoryStorage()
        var options = Bench.smallSegments
        options.keepFree = .bytes(0)
        let bench = try Bench(storage, options)
        for _ in 0..<60 { bench.commit(batches: [1]) }
        // Written, and in the page cache alone when the process is killed; at the start there is no room.
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, 1...59)])
        storage.available = 0
        storage.calls.removeAll()
        try bench.restart(clean: false)
        let order = storage.calls.filter {
            switch $0 {
            case .rename("cursors.new", "cursors"), .synchronise("cursors"): true
            case .unlink(let path): path.hasSuffix(".segment")
            default: false
            }
        }
        #expect(order.count > 1 && order.contains { if case .unlink = $0 { true } else { false } })
        if case .unlink(let path)? = order.first { Issue.record("\(path) goes first") }
    }

    @Test(arguments: [true, false])
    func aStartWithoutRoomRemovesNothingThatADestinationWithoutACursorMayWaitFor(isLost: Bool) throws {
        let storage = MemoryStorage()
        var options = Bench.smallSegments
        options.keepFree = .bytes(0)
        let bench = try Bench(storage, options, destinations: isLost ? ["a", "b"] : ["b"])
        for _ in 0..<60 { bench.commit(batches: [1]) }
        bench.queue.settle(destination: "b", log: .normal, [Disposition(.delivered, 1...59)])
        storage.available = 0
        // Both copies of a's cursor.
        if isLost { for place in [90, 4_096 + 90] { try #require(storage.files["cursors"]).bytes[place] ^= 1 } }
        let before = try segments(storage)
        bench.destinations = ["a", "b"]
        try bench.restart(clean: false)
        #expect(try before.count >= 4 && Set(segments(storage)).isSuperset(of: before))
        #expect(bench.queue.recovery.cursorsReset.count == (isLost ? 1 : 0))
        #expect(try bench.drain(to: "a").events.count == 60)
        #expect(try bench.drain(to: "b").events.count == 1)
        bench.housekeep()
        #expect(try segments(storage).count == 1, "a full disk can be drained")
    }

    /// A power cut may bring back names of segments in any choice.
    @Test func aDestinationBeginsBehindAGapInWhatAllOthersHavePassed() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["b"])
        for _ in 0..<60 { bench.commit(batches: [1]) }
        bench.queue.settle(destination: "b", log: .normal, [Disposition(.delivered, 1...58)])
        let before = try segments(storage)
        #expect(before.count >= 4)
        storage.files["logs/normal/" + before[1]] = nil
        bench.destinations = ["a", "b"]
        try bench.restart(clean: false)
        let first = try #require(UInt64(before[2].dropFirst(17).prefix(20)))
        #expect(bench.queue.cursor(destination: "a", log: .normal)?.low == first)
        let delivery = try bench.drain(to: "a")
        #expect(delivery.events.count == 61 - Int(first) && delivery.quarantined.isEmpty)
        #expect(bench.queue.recovery.damages.isEmpty && bench.queue.takeDamages().isEmpty)
    }

    @Test func withoutADestinationNothingGoes() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: [])
        for _ in 0..<40 { bench.commit(batches: [1]) }
        let before = try segments(storage)
        bench.housekeep()
        #expect(try segments(storage) == before)
        #expect(bench.queue.snapshot.logs.first?.events == 40)
        bench.destinations = ["late"]
        try bench.restart()
        #expect(try bench.drain(to: "late").events == bench.accepted[.normal])
    }

    @Test func theNumberOfEventsAcceptedOutlivesTheSegments() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<50 { bench.commit(batches: [1]) }
        _ = try bench.drain()
        bench.housekeep()
        for _ in 0..<3 {
            try bench.restart()
            bench.housekeep()
            #expect(bench.queue.snapshot.logs.first?.accepted == 50)
        }
        bench.commit(batches: [1])
        #expect(bench.accepted[.normal]?[51] != nil)
        #expect(try bench.drain().events.keys.sorted() == [51])
    }

    @Test func aSegmentThatComesBackAfterACrashGoesAgain() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<50 { bench.commit(batches: [1]) }
        let files = storage.files.filter { $0.key.hasSuffix(".segment") }.mapValues(\.bytes)
        _ = try bench.drain()
        bench.housekeep()
        bench.queue.close()
        for (path, bytes) in files { storage.files[path] = MemoryStorage.Node(path, bytes) }
        try bench.restart(clean: false)
        #expect(try bench.drain().events.isEmpty)
        bench.commit(batches: [1])
        _ = try bench.drain()
        bench.housekeep(from: 100_000_000_000)
        #expect(try segments(storage).count == 1)
    }

    @Test func theNextSegmentIsReadyAndRetiredOnesAreUsedAgain() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        var zeros = 0
        for turn in 0..<200 {
            storage.calls.removeAll()
            bench.commit(batches: [1])
            let inline = storage.calls.filter {
                if case .write(let path, _) = $0 { path.hasSuffix("spare") } else { false }
            }
            if turn > 20 { #expect(inline.count <= 1, "only the header is written in the way of a commit") }
            storage.calls.removeAll()
            _ = try bench.drain()
            bench.housekeep(from: Int64(turn) * 100_000_000_000)
            zeros +=
                storage.calls.filter { if case .write(let path, _) = $0 { path.hasSuffix("spare") } else { false } }
                .count
        }
        #expect(zeros <= 3, "no new zeros in the steady state")
        #expect(bench.queue.snapshot.logs.first?.bytes ?? 0 <= 3 * 65_536)
        try bench.restart()
        #expect(bench.queue.recovery.damages.isEmpty)
        #expect(bench.queue.snapshot.logs.first?.accepted == 200)
        bench.commit(batches: [1])
        #expect(try bench.drain().events == (bench.accepted[.normal] ?? [:]).filter { $0.key == 201 })
    }

    /// A commit finds at most as many slices in front of it as the segment's progress asks for; a pause does the rest.
    @Test func theNextSegmentIsMadeReadyAtThePaceOfCommits() throws {
        let storage = MemoryStorage()
        var options = Bench.smallSegments
        options.firstSegmentBytes = 2 << 20
        options.segmentBytes = 2 << 20
        let bench = try Bench(storage, options)
        var ready = 0
        for number in 1...512 {
            bench.commit(batches: [1])
            let now = Instant(nanoseconds: 0)
            var slices = 0
            storage.calls.removeAll()
            while let next = bench.queue.housekeep(at: now, age: 0), next <= now {}
            for case .write("logs/normal/spare", _) in storage.calls { slices += 1 }
            #expect(slices <= 1, "commit \(number)")
            ready += slices
            #expect(ready <= max(0, (number - 128) / 32 + 1))
            if number >= 384 { #expect(ready == 8, "ready when three quarters are full") }
        }
    }

    /// What the header would say the first batch says, too.
    @Test func aDamagedHeaderKeepsNoSegmentBeforeIt() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<60 { bench.commit(batches: [1]) }
        let before = try segments(storage)
        let first = try #require(UInt64(before[1].dropFirst(17).prefix(20)))
        try #require(storage.files["logs/normal/" + before[1]]).bytes[20] ^= 1
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, 1...first - 1)])
        bench.housekeep()
        #expect(try segments(storage) == Array(before.dropFirst()))
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, first...59)])
        storage.calls.removeAll()
        bench.housekeep()
        let gone = storage.calls.compactMap { call in
            switch call {
            case .unlink(let path), .rename(let path, _): path.hasSuffix(".segment") ? path : nil
            default: nil
            }
        }
        #expect(gone == gone.sorted() && gone.count == before.count - 2)
    }
}

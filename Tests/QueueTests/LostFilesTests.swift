import Bytes
import Posix
import Queue
import Testing
import Time

/// Files that are gone, that nobody can open, or that can be read only later: told of once, and gone on with.
@Suite struct LostFilesTests {
    private func isCommitted(_ bench: Bench) -> Bool {
        bench.commit().allSatisfy { if case .committed = $0 { true } else { false } }
    }

    /// `settled`: how many of the six events were delivered before the log went.
    @Test(arguments: [0, 4, 6])
    func aLogThatIsGoneIsToldOnce(settled: UInt64) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["a", "b"])
        bench.commit(batches: [6])
        if settled > 0 {
            for name in ["a", "b"] {
                bench.queue.settle(destination: name, log: .normal, [Disposition(.delivered, 1...settled)])
            }
        }
        bench.queue.close()
        storage.files = storage.files.filter { !$0.key.hasPrefix("logs/") }
        storage.folders.remove("logs/normal")
        bench.accepted = [:]
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.map(\.kind) == [.missing])
        #expect(bench.queue.recovery.damages.map(\.sequences) == [nil], "nobody knows how many they were")
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.isEmpty, "it was told")
        #expect(isCommitted(bench))
        #expect(bench.accepted[.normal]?.keys.sorted() == [settled + 1])
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.isEmpty)
        #expect(try bench.drain(to: "a").events == bench.accepted[.normal])
        #expect(bench.queue.takeDamages().isEmpty)
    }

    /// What becomes of the newest segment while the daemon does not run.
    enum Loss: CaseIterable { case removed, zeroed, emptied, cut }

    /// A cursor is the only witness then: what it passed was accepted, and is counted for those who do not have it.
    @Test(arguments: Loss.allCases) func whatACursorProvesIsCountedForTheOthers(_ loss: Loss) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["fast", "slow"])
        for _ in 0..<40 { bench.commit(batches: [1]) }
        _ = try bench.drain(to: "fast")
        bench.queue.close()
        let path = try bench.onlySegment
        let first = try #require(UInt64(path.dropLast(".segment".count).suffix(20)))
        #expect(first > 20 && first < 40)
        let node = try #require(storage.files[path])
        switch loss {
        case .removed: storage.files[path] = nil
        case .zeroed: node.bytes = [UInt8](repeating: 0, count: node.bytes.count)
        case .emptied: node.bytes = []
        case .cut: node.bytes = Array(node.bytes.prefix(4_096))
        }
        try bench.restart(clean: false)
        #expect(bench.queue.snapshot.logs.map(\.accepted) == [40], "the cursor proves it")
        let told = bench.queue.recovery.damages.filter { $0.sequences != nil }
        #expect(told.map(\.sequences) == [first...40])
        #expect(bench.queue.recovery.strays == ([.zeroed, .emptied].contains(loss) ? [path] : []))
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.isEmpty, "once")
        #expect(isCommitted(bench))
        let slow = try bench.drain(to: "slow")
        #expect(slow.quarantined == Array(first...40))
        #expect(slow.events.keys.sorted() == Array(1..<first) + [41])
        #expect(bench.queue.cursor(destination: "slow", log: .normal)?.ledger.quarantined == 41 - first)
        #expect(try bench.drain(to: "fast").events.keys.sorted() == [41])
        #expect(bench.queue.snapshot.logs.map(\.accepted) == [41])
    }

    @Test func anEndThatIsLostIsToldOnce() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        let path = try bench.onlySegment
        let node = try #require(storage.files[path])
        let before = node.bytes
        bench.commit(batches: [4])
        _ = try bench.drain()
        bench.queue.close()
        node.bytes = before
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.map(\.kind) == [.missingTail])
        #expect(bench.queue.recovery.damages.map(\.sequences) == [4...7])
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.isEmpty)
        #expect(isCommitted(bench))
        #expect(try bench.drain().events.keys.sorted() == [8])
    }

    @Test func aQueueThatHadNoDestinationHasNoDamagedCursors() throws {
        let bench = try Bench(MemoryStorage(), destinations: [])
        bench.commit(batches: [3])
        for _ in 0..<2 { try bench.restart() }
        bench.destinations = ["main"]
        try bench.restart()
        #expect(bench.queue.recovery.cursorsReset.isEmpty && bench.queue.recovery.damagedSlots == 0)
        #expect(try bench.drain().events.count == 3)
    }

    @Test func cursorsThatCannotBeOpenedAreKeptAsideAndTold() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [5])
        _ = try bench.drain()
        bench.queue.close()
        let before = try #require(storage.files["cursors"]).bytes
        storage.fault = { $0 == .open("cursors") ? .io : nil }
        try bench.restart(clean: false)
        storage.fault = nil
        #expect(storage.files["quarantine/cursors"]?.bytes == before)
        #expect(bench.queue.recovery.failures == [.failed(.open, path: "/queue/cursors", offset: 0, .io)])
        #expect(bench.queue.recovery.cursorsReset.map(\.destination) == ["main"])
        #expect(try bench.drain().events.count == 5)
        try bench.restart()
        #expect(bench.queue.recovery.failures.isEmpty && bench.queue.recovery.cursorsReset.isEmpty)
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.low == 6)
        #expect(storage.files["quarantine/cursors"]?.bytes == before, "it is left to whoever can read it")
    }

    @Test func damageOfALogThatIsReadLaterIsTold() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        bench.commit(batches: [3])
        bench.queue.close()
        let node = try #require(storage.files[try bench.onlySegment])
        // Within an event of the first batch, which begins behind the segment's first block.
        node.bytes[4_096 + 600] ^= 1
        node.durable = node.bytes
        storage.fault = { $0 == .names("logs/normal") ? .io : nil }
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.isEmpty)
        for turn in 1...200 { _ = bench.queue.housekeep(at: Instant(nanoseconds: Int64(turn) << 30), age: bench.age) }
        #expect(bench.queue.recovery.failures.count < 4, "what fails again is not kept again")
        #expect(bench.queue.takeDamages().isEmpty)
        storage.fault = nil
        for turn in 1...4 { _ = bench.queue.housekeep(at: Instant(nanoseconds: Int64(turn) << 40), age: bench.age) }
        let damages = bench.queue.takeDamages()
        #expect(damages.map(\.kind) == [.corrupted])
        #expect(bench.queue.takeLateLogs() == [LateLog(name: .normal, last: 6, lows: ["main": 1])])
        #expect(bench.queue.takeLateLogs().isEmpty, "once")
        #expect(damages.allSatisfy { $0.sequences?.count == 1 })
        #expect(try bench.drain().events.count == 5)
        #expect(bench.queue.takeDamages().isEmpty, "once")
    }

    /// An empty file would say that the damage was copied.
    @Test func aFullDiskKeepsNoEmptyCopies() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        bench.queue.close()
        let node = try #require(storage.files[try bench.onlySegment])
        node.bytes[4_096 + 600] ^= 1
        node.durable = node.bytes
        storage.fault = { call in
            if case .write(let path, _) = call, !path.hasPrefix("cursors") { .noSpace } else { nil }
        }
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.map(\.kind) == [.corrupted])
        #expect(!storage.files.keys.contains { $0.hasPrefix("quarantine/") })
        let bytes = bench.queue.bytesOnDisk
        storage.fault = nil
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.map(\.kind) == [.corrupted], "it could not be copied before")
        let copies = storage.files.filter { $0.key.hasPrefix("quarantine/") }
        #expect(copies.count == 1 && copies.allSatisfy { !$0.value.bytes.isEmpty })
        #expect(bench.queue.bytesOnDisk >= bytes + 4_096)
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.isEmpty, "it was told and copied")
    }

    /// A file of which nothing is left but its name has no event that a new destination could get.
    @Test func aNewDestinationBeginsBehindAFileThatIsGone() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<60 { bench.commit(batches: [1]) }
        let names = try storage.names(in: "logs/normal").filter { $0.hasSuffix(".segment") }
        let second = try #require(UInt64(names[1].dropFirst(17).prefix(20)))
        let node = try #require(storage.files["logs/normal/" + names[0]])
        node.bytes = [UInt8](repeating: 0, count: node.bytes.count)
        bench.destinations.append("late")
        try bench.restart()
        #expect(bench.queue.cursor(destination: "late", log: .normal)?.low == second)
        let delivery = try bench.drain(to: "late")
        #expect(delivery.quarantined.isEmpty && delivery.events.count == 61 - Int(second))
        #expect(try bench.drain().quarantined == Array(1..<second))
    }

    /// What a start committed again may not be whole; where all have it, and what it was copied from is gone, that is
    /// no damage for a new destination.
    @Test(arguments: [0, 4_096 + 1_024]) func aNewDestinationBeginsBehindACopyThatIsNotWhole(kept: Int) throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        try bench.restart(clean: false)
        let names = try storage.names(in: "logs/normal").filter { $0.hasSuffix(".segment") }
        #expect(names.count == 2, "the start has committed the batch again")
        _ = try bench.drain()
        try bench.queue.synchroniseCursors()
        storage.files["logs/normal/" + names[0]] = nil
        let node = try #require(storage.files["logs/normal/" + names[1]])
        let end = max(4_096, kept)
        node.bytes.replaceSubrange(end..., with: repeatElement(0, count: node.bytes.count - end))
        bench.destinations.append("late")
        try bench.restart(clean: false)
        #expect(bench.queue.cursor(destination: "late", log: .normal)?.low == 4)
        bench.commit(batches: [1])
        let delivery = try bench.drain(to: "late")
        #expect(delivery.events.keys.sorted() == [4] && delivery.quarantined.isEmpty)
    }
}

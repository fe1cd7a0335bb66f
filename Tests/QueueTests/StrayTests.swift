import Bytes
import Posix
import Testing
import Time

@testable import Queue

/// Files that only look like dead letters, and whatever else lies in the directory: named, counted as room, no more.
@Suite struct StrayTests {
    private static func path(_ sequence: UInt64, _ state: String = "letter") -> String {
        let digits = String(sequence)
        return "dead/main/normal-" + String(repeating: "0", count: 20 - digits.count) + digits + "." + state
    }

    /// Eight events, of which the third is a dead letter; those below `low` are settled.
    private static func bench(_ storage: MemoryStorage, low: UInt64) throws -> Bench {
        let bench = try Bench(storage)
        bench.commit(batches: [8])
        try bench.queue.bury([bench.letter(3)])
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, 1...low - 1)])
        bench.queue.close()
        return bench
    }

    private func put(_ bytes: [UInt8], as path: String, in storage: MemoryStorage) {
        storage.files[path] = MemoryStorage.Node(path, bytes)
    }

    /// Of a passed event, of one that waits, and of one that has a letter as well, to be sent again or not.
    @Test(arguments: [(UInt64(2), "letter"), (2, "retry"), (6, "letter"), (6, "retry"), (8, "letter")])
    func aFileWithALettersNameSettlesNothing(sequence: UInt64, state: String) throws {
        for bytes in [[], [UInt8](repeating: 0x41, count: 300)] {
            let storage = MemoryStorage()
            let bench = try Self.bench(storage, low: 5)
            let before = try #require(bench.queue.cursor(destination: "main", log: .normal)?.ledger)
            let path = Self.path(sequence, state)
            put(bytes, as: path, in: storage)
            let found = try Inspection(storage).verify()
            #expect(found.faults.map(\.kind) == [.stray] && found.faults.map(\.path) == [path])
            for _ in 0..<3 {
                try bench.restart(clean: false)
                #expect(bench.queue.recovery.strays == [path] && bench.queue.recovery.lettersAdopted.isEmpty)
                #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger == before)
                #expect(bench.queue.deadLetters(limit: 9).map(\.name.sequence) == [3])
            }
            #expect(try bench.drain().events.keys.sorted() == [5, 6, 7, 8])
            bench.checkSums()
            try bench.restart()
            #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger.dead == 1)
            #expect(storage.files[path]?.bytes == bytes, "left alone")
        }
    }

    /// A damaged letter that the cursor counts stays a letter; what is more than that is not.
    @Test func aDamagedLetterIsCountedBesideAForeignFile() throws {
        let storage = MemoryStorage()
        let bench = try Self.bench(storage, low: 5)
        storage.files[Self.path(3)]?.bytes[100] ^= 1
        var found = try Inspection(storage).verify()
        #expect(found.faults.map(\.kind) == [.corrupted])
        put([1], as: Self.path(4), in: storage)
        found = try Inspection(storage).verify()
        #expect(Set(found.faults.map(\.kind)) == [.corrupted, .stray])
        try bench.restart()
        #expect(bench.queue.recovery.strays.count == 1)
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger.dead == 1)
    }

    /// Somebody has put back what was dropped: it counts again, and is told of.
    @Test func aLetterThatWasPutBackIsTold() throws {
        let storage = MemoryStorage()
        let bench = try Self.bench(storage, low: 5)
        try bench.restart()
        let name = try #require(bench.queue.deadLetters(limit: 9).first?.name)
        let bytes = try #require(storage.files[Self.path(3)]?.bytes)
        #expect(try bench.queue.drop([name]) == 1)
        bench.queue.close()
        #expect(try Inspection(storage).verify().faults.isEmpty)
        put(bytes, as: Self.path(3), in: storage)
        #expect(try Inspection(storage).verify().faults.map(\.kind) == [.uncounted])
        try bench.restart()
        let adopted = RecoveryReport.LettersAdopted(destination: "main", log: .normal, count: 1)
        #expect(bench.queue.recovery.lettersAdopted == [adopted] && bench.queue.recovery.strays.isEmpty)
        let ledger = bench.queue.cursor(destination: "main", log: .normal)?.ledger
        #expect(ledger?.dead == 1 && ledger?.purged == 0 && ledger?.delivered == 3)
        bench.queue.close()
        #expect(try Inspection(storage).verify().faults.isEmpty)
    }

    // MARK: Room

    @Test func whatLiesInTheDirectoryTakesRoom() throws {
        let storage = MemoryStorage()
        let bench = try Self.bench(storage, low: 5)
        try bench.restart()
        let before = bench.queue.bytesOnDisk
        put([UInt8](repeating: 1, count: 100_001), as: "notes.txt", in: storage)
        put([UInt8](repeating: 1, count: 5_000), as: "logs/normal/core", in: storage)
        try bench.restart()
        #expect(bench.queue.bytesOnDisk >= before + 102_400 + 8_192)
        // What comes while it runs is seen, and what goes, too.
        put([UInt8](repeating: 1, count: 1 << 20), as: "core", in: storage)
        storage.files["notes.txt"] = nil
        let known = bench.queue.bytesOnDisk
        bench.housekeep()
        #expect(bench.queue.takeStrays() == ["core"])
        #expect(bench.queue.bytesOnDisk >= known - 106_496 + (1 << 20))
        storage.files["core"] = nil
        bench.housekeep(from: 61_000_000_000)
        #expect(bench.queue.takeStrays().isEmpty && bench.queue.bytesOnDisk < known)
    }

    /// No event is given up for room that a stranger's file takes, where that would not be enough.
    @Test func aFileThatLeavesNoRoomHasNewEventsRefused() throws {
        let storage = MemoryStorage()
        var options = Bench.smallSegments
        options.maximumBytes = 4 << 20
        options.whenFull = .dropOldest
        let bench = try Bench(storage, options)
        bench.commit(batches: [8])
        bench.queue.close()
        put([UInt8](repeating: 1, count: 8 << 20), as: "core", in: storage)
        try bench.restart()
        guard case .refused = bench.commit(batches: [1_000]).first else {
            Issue.record("there is no room for it")
            return
        }
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger.evicted == 0)
        storage.files["core"] = nil
        bench.housekeep(from: 61_000_000_000)
        bench.commit(batches: [8])
        #expect(try bench.drain().events.count == 16)
    }
}

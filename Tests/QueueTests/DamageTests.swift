import Bytes
import Posix
import Queue
import Testing
import Time

@Suite struct DamageTests {
    /// What was written, for a disk that is damaged over and over.
    private struct Original {
        let accepted: [UInt64: [UInt8]]
        let files: [String: [UInt8]]
        let folders: Set<String>
        let segment: String

        /// A disk with these files, one of them changed.
        func disk(with bytes: [UInt8]) -> MemoryStorage {
            let storage = MemoryStorage()
            storage.folders = folders
            for (path, old) in files {
                storage.files[path] = MemoryStorage.Node(path, path == segment ? bytes : old)
            }
            return storage
        }

        var bytes: [UInt8] { files[segment] ?? [] }
        /// Where the last batch ends.
        var end: Int { ((bytes.lastIndex { $0 != 0 } ?? 0) / 512 + 1) * 512 }
    }

    private func write(_ batches: [Int], length: Int = 60, block: Int = 4_096) throws -> Original {
        let storage = MemoryStorage(physicalBlock: block)
        let bench = try Bench(storage)
        for size in batches { bench.commit(batches: [size], length: length) }
        let segment = try bench.onlySegment
        bench.queue.close()
        return Original(
            accepted: bench.accepted[.normal] ?? [:], files: storage.files.mapValues(\.bytes),
            folders: storage.folders, segment: segment)
    }

    private static let isThorough = Process.environment("UPLINKD_THOROUGH_TESTS") != nil

    @Test(arguments: [1, 3, 500]) func aCutTailLosesOnlyWhatWasCut(size: Int) throws {
        let original = try write([size, size, size])
        let cuts =
            Self.isThorough ? Array(0...4_096) : [0, 1, 3, 4, 135, 136, 137, 160, 500, 512, 700, 2_048, 4_095, 4_096]
        for cut in cuts {
            let bench = try Bench(
                original.disk(with: Array(original.bytes[..<(original.end - cut)])), destinations: ["main"])
            let report = bench.queue.recovery
            bench.commit(batches: [1])
            let delivery = try bench.drain()
            let kept = delivery.events.filter { $0.value == original.accepted[$0.key] }
            // The last batch begins 4,096 bytes or more before the cut; a record that is cut into is lost, no more.
            #expect(kept.count >= 2 * size, "cut \(cut)")
            let lost = 3 * size - kept.count
            #expect(lost <= cut / 112 + 1 || cut == 4_096 && size == 1, "cut \(cut): \(lost) lost")
            if cut == 0 { #expect(lost == 0 && report.damages.allSatisfy { $0.kind == .missingTail }) }
            // Without its header nothing tells how many events a batch had; that something is missing is told.
            if cut > 0 { #expect(!report.damages.isEmpty, "cut \(cut)") }
            let hasHeader = size == 500 || cut <= 4_096 - 128
            if lost > 0, hasHeader {
                let named = report.damages.compactMap(\.sequences).reduce(0) { $0 + $1.count }
                #expect(named == lost, "cut \(cut)")
            }
            #expect(delivery.events.count == kept.count + 1, "the event posted afterwards is delivered")
        }
    }

    @Test func oneFlippedByteCostsAtMostOneEventWhichIsNamed() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        for (batches, block) in [([1, 1, 1, 1], 4_096), ([3, 1, 40, 3], 512), ([500, 1], 4_096)] {
            let original = try write(batches, block: block)
            for _ in 0..<(Self.isThorough ? 5_000 : 15) {
                var bytes = original.bytes
                let place = Int.random(in: 0..<original.end, using: &random)
                bytes[place] ^= UInt8.random(in: 1...255, using: &random)
                try check(original, bytes, "seed \(seed), byte \(place) of \(batches)", atMost: 1)
            }
        }
    }

    @Test func everyByteOfHeaderTableAndTrailerMayFlip() throws {
        let original = try write([2, 3], block: 512)
        let step = Self.isThorough ? 1 : 11
        for place in stride(from: 0, to: original.end, by: step) {
            var bytes = original.bytes
            bytes[place] ^= 0x41
            try check(original, bytes, "byte \(place)", atMost: 1)
        }
    }

    private func check(_ original: Original, _ bytes: [UInt8], _ what: String, atMost: Int) throws {
        let bench = try Bench(original.disk(with: bytes))
        let report = bench.queue.recovery
        let delivery = try bench.drain()
        let kept = delivery.events.filter { $0.value == original.accepted[$0.key] }
        let lost = original.accepted.count - kept.count
        #expect(delivery.events.count == kept.count, "\(what): an event is not what was posted")
        #expect(lost <= atMost, "\(what): \(lost) lost")
        let named = report.damages.compactMap(\.sequences).flatMap { Array($0) }
        #expect(named.sorted() == original.accepted.keys.filter { kept[$0] == nil }.sorted(), "\(what)")
        #expect(
            delivery.quarantined == named.filter { $0 <= bench.queue.snapshot.logs.first?.accepted ?? 0 }, "\(what)")
        #expect(delivery.contexts.count <= 1, "\(what): the context has a copy")
        #expect(delivery.contexts.first ?? Bench.context == Bench.context, "\(what)")
    }

    @Test func aLostBlockCostsTheEventsInIt() throws {
        let original = try write([60])
        for block in stride(from: 4_096, to: original.end, by: 4_096) {
            var bytes = original.bytes
            bytes.replaceSubrange(block..<block + 4_096, with: [UInt8](repeating: 0, count: 4_096))
            try check(original, bytes, "block \(block / 4_096)", atMost: 4_096 / 112 + 2)
        }
    }

    @Test func aWriteThatNeverHappenedIsNoticed() throws {
        let original = try write([1, 7, 1])
        var bytes = original.bytes
        bytes.replaceSubrange(8_192..<12_288, with: [UInt8](repeating: 0, count: 4_096))
        let bench = try Bench(original.disk(with: bytes))
        let damage = try #require(bench.queue.recovery.damages.first)
        #expect(damage.kind == .lostWrite)
        #expect(damage.sequences == 2...8)
        let delivery = try bench.drain()
        #expect(delivery.quarantined == Array(2...8))
        #expect(delivery.events.keys.sorted() == [1, 9])
        #expect(bench.queue.cursor(destination: "main", log: .normal)?.ledger.quarantined == 7)
    }

    @Test func damageIsFoundWhenReadingToo() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        let node = try #require(storage.files[try bench.onlySegment])
        let place = try #require(node.bytes.indices.first { node.bytes[$0...].starts(with: Array("\"n\":2".utf8)) })
        node.bytes[place + 4] ^= 1
        let delivery = try bench.drain()
        #expect(delivery.quarantined == [2])
        let damages = bench.queue.takeDamages()
        #expect(damages.map(\.sequences) == [2...2])
        #expect(storage.files.keys.contains { $0.hasPrefix("quarantine/") })
        #expect(bench.queue.takeDamages().isEmpty)
        #expect(
            try bench.queue.read(.normal, for: "another", from: 1, limit: 1_000, age: 0)?.disposed
                == [Disposition(.quarantined, 2...2)])
        #expect(bench.queue.takeDamages().isEmpty, "it is named once")
    }

    @Test func whatIsNoSegmentIsLeftAlone() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [2])
        bench.queue.close()
        var random = SplitMix64(seed: 3)
        let noise = (0..<65_536).map { _ in UInt8.random(in: 0...255, using: &random) }
        storage.files["logs/normal/00000000000000f0-00000000000000000900.segment"] = MemoryStorage.Node("noise", noise)
        storage.files["logs/normal/00000000000000f1-00000000000000000950.segment"] = MemoryStorage.Node()
        storage.folders.insert("logs/normal/00000000000000f2-00000000000000000960.segment")
        let absurd = [
            "ffffffffffffffff-00000000000000000051", "0000000000000077-18446744073709551615",
            "0001000000000001-00000000000000000003", "0000000000000078-04611686018427387905",
        ]
        for name in absurd { storage.files["logs/normal/\(name).segment"] = MemoryStorage.Node() }
        storage.files["logs/normal/notes.txt"] = MemoryStorage.Node()
        storage.folders.insert("logs/Other")
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.strays.count == 5 + absurd.count)
        #expect(bench.queue.recovery.damages.isEmpty)
        bench.commit(batches: [1])
        let delivery = try bench.drain()
        #expect(delivery.events.keys.sorted() == [1, 2, 3])
        #expect(delivery.quarantined.isEmpty)
        bench.housekeep()
        #expect(storage.files["logs/normal/notes.txt"] != nil)
        for name in absurd { #expect(storage.files["logs/normal/\(name).segment"] != nil) }
    }

    @Test func theOnlySegmentCountsThoughNothingOfItCanBeRead() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<40 { bench.commit(batches: [1]) }
        _ = try bench.drain()
        bench.housekeep()
        let path = try bench.onlySegment
        bench.queue.close()
        storage.files["cursors"] = nil
        let node = try #require(storage.files[path])
        node.bytes = [UInt8](repeating: 0, count: node.bytes.count)
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.strays == [path])
        #expect(bench.queue.snapshot.logs.first?.accepted ?? 0 > 5, "its name says how many came before")
    }

    @Test func aMissingSegmentIsCounted() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<40 { bench.commit(batches: [1]) }
        let names = try storage.names(in: "logs/normal").filter { $0 != "spare" }
        #expect(names.count >= 3)
        storage.files["logs/normal/" + names[1]] = nil
        try bench.restart()
        let delivery = try bench.drain()
        #expect(delivery.events.count + delivery.quarantined.count == 40)
        #expect(delivery.quarantined.count > 5)
        let damages = bench.queue.recovery.damages + bench.queue.takeDamages()
        #expect(damages.map(\.kind) == [.missing])
        #expect(damages.compactMap(\.sequences).flatMap { Array($0) } == delivery.quarantined)
    }

    @Test func aSegmentThatGoesMissingWhileRunningIsNamedOnce() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["a", "b"])
        for _ in 0..<40 { bench.commit(batches: [1]) }
        let names = try storage.names(in: "logs/normal").filter { $0 != "spare" }
        storage.files["logs/normal/" + names[1]] = nil
        let delivery = try bench.drain(to: "a")
        #expect(delivery.quarantined.count > 5)
        #expect(try bench.drain(to: "b").quarantined == delivery.quarantined)
        let damages = bench.queue.takeDamages()
        #expect(damages.map(\.kind) == [.missing])
        #expect(damages.compactMap(\.sequences).flatMap { Array($0) } == delivery.quarantined)
    }

    @Test func missingLogsGoOnBehindWhatTheCursorsKnow() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [7])
        _ = try bench.drain()
        bench.queue.close()
        storage.files = storage.files.filter { !$0.key.hasPrefix("logs/") }
        storage.folders = [""]
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.damages.map(\.kind) == [.missing])
        #expect(bench.queue.recovery.damages.first?.sequences == nil, "those that are known were settled")
        #expect(bench.queue.snapshot.logs.first?.accepted == 7)
    }

    @Test func aDiskThatGivesErrorsIsAskedAgainBeforeEventsCountAsLost() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [1])
        bench.commit(batches: [1])
        let path = try bench.onlySegment
        storage.fault = { call in
            guard case .read(path, let offset) = call, offset < 12_288 else { return nil }
            return .io
        }
        for _ in 0..<5 {
            #expect(throws: QueueError.failed(.read, path: "/queue/" + path, offset: 0, .io)) {
                try bench.queue.read(.normal, for: "main", from: 1, limit: 1_000, age: 0)
            }
        }
        let chunk = try #require(try bench.queue.read(.normal, for: "main", from: 1, limit: 1_000, age: 0))
        #expect([1...1, 1...2].map { Disposition(.quarantined, $0) }.contains(chunk.disposed.first))
    }
}

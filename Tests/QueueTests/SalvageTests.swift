import Bytes
import Posix
import Queue
import Testing
import Time

/// Batches of which neither header nor trailer can be read, and what damage is taken for.
@Suite struct SalvageTests {
    private static let block = 512

    /// A disk with a log of batches, whose bytes can be changed.
    private final class Scene {
        let storage = MemoryStorage(physicalBlock: SalvageTests.block)
        let bench: Bench
        let path: String
        /// Where each batch stands.
        private(set) var batches: [Range<Int>] = []
        private let node: MemoryStorage.Node

        /// Commits each inner list with one sync; each number is a batch of so many events.
        init(_ syncs: [[Int]], length: Int = 300) throws {
            bench = try Bench(storage, destinations: ["main", "late"])
            for sync in syncs { bench.commit(batches: sync, length: length) }
            path = try bench.onlySegment
            node = try #require(storage.files[path])
            let starts = stride(from: 0, to: node.bytes.count, by: SalvageTests.block).filter {
                node.bytes[$0...].starts(with: Array("UPB1".utf8))
            }
            batches = starts.map { $0..<$0 + Int(node.bytes.loadLittleEndian(at: $0 + 48, as: UInt32.self)) }
        }

        /// The parts of a batch that can be damaged.
        enum Part { case header, trailer, record(Int), records }

        func range(_ part: Part, of batch: Int) throws -> Range<Int> {
            let all = batches[batch]
            switch part {
            case .header: return all.lowerBound..<all.lowerBound + 128
            case .trailer: return all.upperBound - 136..<all.upperBound
            case .records: return all.lowerBound + 128..<all.upperBound - 136
            case .record(let number):
                let text = Array("\"n\":\(number),".utf8)
                let start = try #require(all.first { node.bytes[$0...].starts(with: text) })
                return start..<start + text.count
            }
        }

        /// Writes a run of batches where an earlier one begins, as a disk does that gets an address wrong.
        func misdirect(_ run: ClosedRange<Int>, to batch: Int) {
            let bytes = node.bytes[batches[run.lowerBound].lowerBound..<batches[run.upperBound].upperBound]
            let place = batches[batch].lowerBound
            node.bytes.replaceSubrange(place..<place + bytes.count, with: bytes)
        }

        func flip(_ part: Part, of batch: Int) throws { node.bytes[try range(part, of: batch).lowerBound + 6] ^= 0x10 }

        func erase(_ part: Part, of batch: Int) throws {
            for index in try range(part, of: batch) { node.bytes[index] = 0 }
        }

        func garble(_ part: Part, of batch: Int) throws {
            for index in try range(part, of: batch) { node.bytes[index] ^= 0xA5 ^ UInt8(truncatingIfNeeded: index) }
        }
    }

    private func expect(
        _ scene: Scene, lost: [UInt64], kinds: Set<RecoveryReport.Damage.Kind>, accepted: UInt64, _ what: String
    ) throws {
        try scene.bench.restart(clean: false)
        let report = scene.bench.queue.recovery
        #expect(Set(report.damages.map(\.kind)) == kinds, "\(what)")
        #expect(scene.bench.queue.snapshot.logs.first?.accepted == accepted, "\(what)")
        let delivery = try scene.bench.drain()
        let posted = scene.bench.accepted[.normal] ?? [:]
        #expect(delivery.events == posted.filter { $0.key <= accepted && !lost.contains($0.key) }, "\(what)")
        #expect(delivery.quarantined == lost, "\(what)")
        let named = report.damages.compactMap(\.sequences).flatMap { Array($0) }.filter { $0 <= accepted }
        #expect(named.sorted() == lost, "\(what)")
    }

    @Test func recordsAreFoundWithoutTheirBatch() throws {
        for batch in 0..<3 {
            let scene = try Scene([[2], [3], [2]])
            try scene.flip(.header, of: batch)
            try scene.flip(.trailer, of: batch)
            try expect(
                scene, lost: [], kinds: batch < 2 ? [.repaired] : [.tornTail], accepted: 7, "batch \(batch)")
            #expect(scene.bench.queue.recovery.salvaged == [2, 3, 2][batch])
        }
    }

    @Test func recordsAreFoundWithoutTheirBatchWhenReadingToo() throws {
        for batch in 0..<3 {
            let scene = try Scene([[2], [3], [2]])
            let before = try scene.bench.drain(to: "late").ids
            try scene.flip(.header, of: batch)
            try scene.garble(.trailer, of: batch)
            let delivery = try scene.bench.drain(limit: 500)
            #expect(delivery.events == scene.bench.accepted[.normal], "batch \(batch)")
            #expect(delivery.ids == before)
            #expect(delivery.quarantined.isEmpty)
        }
    }

    @Test func batchesInARowAreSearchedAndOneBadRecordCostsOneEvent() throws {
        let scene = try Scene([[2], [3], [3], [2]])
        for batch in 1...2 {
            try scene.flip(.header, of: batch)
            try scene.erase(.trailer, of: batch)
        }
        try scene.garble(.record(4), of: 1)
        try expect(scene, lost: [4], kinds: [.corrupted], accepted: 10, "two batches")
    }

    /// In the middle, what follows tells whether the missing batch was ever acknowledged.
    @Test(arguments: [true, false]) func inTheMiddle(sameSync: Bool) throws {
        let syncs = sameSync ? [[1], [2, 1]] : [[1], [2], [1]]
        for isZero in [true, false] {
            let scene = try Scene(syncs)
            for part in [Scene.Part.header, .records, .trailer] {
                if isZero { try scene.erase(part, of: 1) } else { try scene.garble(part, of: 1) }
            }
            let kind: RecoveryReport.Damage.Kind = sameSync ? .tornTail : isZero ? .lostWrite : .corrupted
            try expect(scene, lost: [2, 3], kinds: [kind], accepted: 4, "zero: \(isZero), same sync: \(sameSync)")
        }
    }

    /// At the end, nothing but the batch itself and a cursor tell whether it was acknowledged.
    @Test func atTheEnd() throws {
        typealias Change = (Scene) throws -> Void
        let table: [(String, Change, [UInt64], Set<RecoveryReport.Damage.Kind>, UInt64)] = [
            ("no trailer", { try $0.erase(.trailer, of: 1) }, [], [], 4),
            ("no header", { try $0.erase(.header, of: 1) }, [], [], 4),
            ("flipped header", { try $0.flip(.header, of: 1) }, [], [.repaired], 4),
            ("lost records", { try $0.erase(.records, of: 1) }, [2, 3, 4], [.lostWrite], 4),
            ("garbled records", { try $0.garble(.records, of: 1) }, [2, 3, 4], [.corrupted], 4),
            ("flipped record", { try $0.flip(.record(3), of: 1) }, [3], [.corrupted], 4),
            ("flipped last record", { try $0.flip(.record(4), of: 1) }, [4], [.corrupted], 4),
            (
                "flipped last record and trailer",
                {
                    try $0.flip(.record(4), of: 1)
                    try $0.flip(.trailer, of: 1)
                }, [4], [.corrupted], 4
            ),
            (
                "torn after two records",
                {
                    try $0.erase(.record(4), of: 1)
                    try $0.erase(.trailer, of: 1)
                }, [], [.tornTail], 3
            ),
            (
                "torn in the middle of the records",
                {
                    try $0.erase(.record(3), of: 1)
                    try $0.erase(.trailer, of: 1)
                }, [3], [.corrupted], 4
            ),
            (
                "torn before its header",
                {
                    for part in [Scene.Part.header, .records, .trailer] { try $0.erase(part, of: 1) }
                }, [], [], 1
            ),
            (
                "garbled whole",
                {
                    for part in [Scene.Part.header, .records, .trailer] { try $0.garble(part, of: 1) }
                }, [], [.tornTail], 1
            ),
        ]
        for (what, change, lost, kinds, accepted) in table {
            let scene = try Scene([[1], [3]])
            try change(scene)
            try expect(scene, lost: lost, kinds: kinds, accepted: accepted, what)
        }
    }

    /// What a write that went astray destroys is lost; whole as its batches are, they do not count where they stand.
    @Test func aBatchCountsOnlyInItsPlace() throws {
        for (run, first) in [(5...7, 1), (6...8, 2), (5...5, 2)] {
            let scene = try Scene([[1], [1], [1], [1], [1], [1, 1, 1], [1], [1]], length: 3_000)
            scene.misdirect(run, to: first)
            let lost = (first..<first + run.count).map { UInt64($0 + 1) }
            try expect(scene, lost: lost, kinds: [.corrupted], accepted: 10, "\(run) at \(first)")
        }
        let trailer = try Scene([[1], [1], [1], [1], [1], [1, 1, 1], [1], [1]], length: 3_000)
        trailer.misdirect(5...7, to: 1)
        for batch in 1...3 { try trailer.erase(.header, of: batch) }
        try expect(trailer, lost: [2, 3, 4], kinds: [.corrupted], accepted: 10, "trailers only")
    }

    @Test func aCursorProvesThatALostEndWasThere() throws {
        let scene = try Scene([[1], [3]])
        _ = try scene.bench.drain(to: "late")
        try scene.bench.queue.synchroniseCursors()
        for part in [Scene.Part.header, .records, .trailer] { try scene.erase(part, of: 1) }
        try expect(scene, lost: [2, 3, 4], kinds: [.missingTail], accepted: 4, "witness")
    }

    @Test func damageToWhatALaterSegmentHasAgainCostsNothing() throws {
        let scene = try Scene([[1], [3]])
        try scene.bench.restart(clean: false)
        scene.bench.commit(batches: [2])
        for batch in 0...1 {
            for part in [Scene.Part.header, .records, .trailer] { try scene.garble(part, of: batch) }
        }
        try scene.bench.restart(clean: false)
        let delivery = try scene.bench.drain()
        #expect(delivery.events == scene.bench.accepted[.normal])
        #expect(delivery.quarantined.isEmpty)
    }

    /// A reader that has looked for lost events to the end of its segment must not stay there.
    @Test func whatIsCommittedBehindALostBatchIsRead() throws {
        let scene = try Scene([[1], [3]])
        for part in [Scene.Part.header, .records, .trailer] { try scene.erase(part, of: 1) }
        #expect(try scene.bench.drain().quarantined == [2, 3, 4])
        scene.bench.commit(batches: [2])
        let delivery = try scene.bench.drain()
        #expect(delivery.events.keys.sorted() == [5, 6])
        #expect(delivery.quarantined.isEmpty)
    }

    /// Damage is named whole, though the destination that finds it needs only a part.
    @Test func damageIsNamedWholeWhoeverFindsIt() throws {
        let scene = try Scene([[1], [3], [1]])
        let queue = scene.bench.queue
        queue.settle(destination: "late", log: .normal, [Disposition(.delivered, 1...2)])
        for part in [Scene.Part.header, .records, .trailer] { try scene.erase(part, of: 1) }
        #expect(try scene.bench.drain(to: "late").quarantined == [3, 4])
        #expect(try scene.bench.drain().quarantined == [2, 3, 4])
        #expect(queue.takeDamages().map(\.sequences) == [2...4])
    }

    /// When an event was accepted whose batch cannot be read nobody knows: it may expire late, never early.
    @Test func whatIsFoundWithoutItsBatchDoesNotExpire() throws {
        for isRestarted in [false, true] {
            let scene = try Scene([[1]])
            let bench = scene.bench
            bench.age += 90_000
            bench.commit(batches: [2], timeToLive: 60)
            let path = try bench.onlySegment
            let node = try #require((bench.storage as? MemoryStorage)?.files[path])
            let start = scene.batches[0].upperBound
            let end = start + Int(node.bytes.loadLittleEndian(at: start + 48, as: UInt32.self))
            for index in [start + 6, end - 100] { node.bytes[index] ^= 0x10 }
            bench.age += 30_000
            if isRestarted {
                try bench.restart(clean: false)
                #expect(bench.queue.recovery.age == 110_000 || bench.queue.recovery.age == 20_000)
            }
            let delivery = try bench.drain()
            #expect(delivery.events.keys.sorted() == [1, 2, 3], "\(isRestarted)")
            #expect(delivery.expired.isEmpty, "\(isRestarted)")
        }
    }

    /// A commit failed, the segment for the next try was opened, and the process died: what the disk has of the first
    /// try is not hidden by the second, which holds nothing.
    @Test func aSegmentThatHoldsNothingHidesNothing() throws {
        let storage = MemoryStorage(physicalBlock: Self.block)
        let bench = try Bench(storage)
        bench.commit(batches: [2])
        var syncs = 0
        storage.fault = { call in
            if case .synchronise(let path) = call, path.hasSuffix(".segment") { syncs += 1 }
            guard syncs > 0 else { return nil }
            switch call {
            case .write(let path, _) where path.hasSuffix(".segment"): return .io
            case .synchronise(let path) where path.hasSuffix(".segment"): return .io
            case .unlink(let path) where path.hasSuffix(".segment"): return .io
            default: return nil
            }
        }
        let failed = [bench.event(300), bench.event(300), bench.event(300)]
        var batches = [bench.batch(.normal, failed)]
        guard case .refused = bench.queue.commit(&batches, at: bench.wall, age: bench.age)[0] else {
            Issue.record("it was taken")
            return
        }
        storage.fault = nil
        let names = try storage.names(in: "logs/normal").filter { $0 != "spare" }
        #expect(names.count == 2)
        // The middle one of the batch that was not acknowledged came to nothing.
        let node = try #require(storage.files["logs/normal/" + names[0]])
        let place = try #require(node.bytes.indices.first { node.bytes[$0...].starts(with: failed[1]) })
        node.bytes[place] ^= 0x10
        try bench.restart(clean: false)
        #expect(bench.queue.snapshot.logs.first?.accepted == 5)
        let delivery = try bench.drain()
        #expect(delivery.events.keys.sorted() == [1, 2, 3, 5])
        #expect(delivery.quarantined == [4])
    }
}

import Bytes
import Posix
import Queue
import Testing
import Time

/// Files that have a segment's name, whatever stands in them: they hide nothing, and nobody touches them.
@Suite struct ForeignFilesTests {
    /// What stands in such a file.
    enum Content: CaseIterable {
        case nothing, zeros, noise, olderSegment, newestSegment, otherLog, otherQueue
    }

    private static func bench(_ storage: MemoryStorage, seed: UInt64 = 1, each: Int = 1) throws -> Bench {
        let bench = try Bench(storage, destinations: ["main", "late"], seed: seed)
        // The ids of the two logs take turns.
        for _ in 0..<40 {
            bench.commit(batches: [each])
            bench.commit(.urgent, batches: [each])
        }
        bench.queue.close()
        return bench
    }

    private static func segments(_ storage: MemoryStorage, _ log: String = "normal") -> [String] {
        storage.files.keys.filter { $0.hasPrefix("logs/\(log)/") && $0.hasSuffix(".segment") }.sorted()
    }

    private static func path(_ id: UInt64, _ first: UInt64) -> String {
        let digits = String(first)
        let zeros = String(repeating: "0", count: 20 - digits.count)
        return "logs/normal/" + Hexadecimal.digits(id).text + "-" + zeros + digits + ".segment"
    }

    /// Reads what `path` wrote.
    private static func name(_ path: String) throws -> (id: UInt64, first: UInt64) {
        let parts = path.dropFirst("logs/normal/".count).dropLast(".segment".count).split(separator: "-")
        let id = try #require(Hexadecimal.value(Array(parts[0].utf8)))
        return (id, try #require(UInt64(String(parts[1]))))
    }

    private static func bytes(_ content: Content, _ storage: MemoryStorage) throws -> [UInt8] {
        func segment(_ path: String?) throws -> [UInt8] { try #require(path.flatMap { storage.files[$0]?.bytes }) }
        var random = SplitMix64(seed: 3)
        switch content {
        case .nothing: return []
        case .zeros: return [UInt8](repeating: 0, count: 65_536)
        case .noise: return (0..<65_536).map { _ in UInt8.random(in: 0...255, using: &random) }
        case .olderSegment: return try segment(segments(storage).first)
        case .newestSegment: return try segment(segments(storage).last)
        case .otherLog: return try segment(segments(storage, "urgent").last)
        case .otherQueue:
            let other = MemoryStorage()
            _ = try bench(other, seed: 77)
            return try #require(segments(other).last.flatMap { other.files[$0]?.bytes })
        }
    }

    /// Puts a file into the log and sees that it hides nothing and stays as it is.
    private func check(_ path: String, _ bytes: [UInt8], _ what: String) throws {
        let storage = MemoryStorage()
        let bench = try Self.bench(storage)
        storage.files[path] = MemoryStorage.Node(path, bytes)
        // Beside it, before anything was settled.
        let found = try Inspection(storage).verify()
        #expect(found.faults.map(\.kind) == [.stray], "\(what)")
        #expect(found.logs.map(\.events) == [40, 40] && found.logs.allSatisfy(\.gaps.isEmpty), "\(what)")
        let export = try Export(try Inspection(storage), everything: true)
        var exported = 0
        while let chunk = try export.next() { exported += chunk.records.count }
        #expect(exported == 80 && export.unreadable == 0 && export.damages.isEmpty, "\(what)")

        try bench.restart(clean: false)
        bench.commit(batches: [2])
        // Step by step, so that a segment goes as soon as it seems to be passed.
        while let low = bench.queue.cursor(destination: "main", log: .normal)?.low,
            let chunk = try bench.queue.read(.normal, for: "main", from: low, limit: 1, age: 0)
        {
            #expect(chunk.disposed.isEmpty, "\(what): \(chunk.disposed)")
            for name in ["main", "late"] {
                bench.queue.settle(
                    destination: name, log: .normal, [Disposition(.delivered, low...chunk.sequences.upperBound)])
            }
            for record in chunk.records {
                let isRight = Array(chunk.bytes[record.range]) == bench.accepted[.normal]?[record.sequence]
                #expect(isRight, "\(what): event \(record.sequence)")
            }
            bench.housekeep()
            if low % 8 == 0 { try bench.restart(clean: false) }
        }
        #expect(bench.queue.snapshot.logs.map(\.accepted) == [40, 42], "\(what)")
        bench.checkSums()
        #expect(Self.segments(storage).filter { $0 != path }.count == 1, "\(what): the others went")
        #expect(storage.files[path]?.bytes == bytes, "\(what): it is left alone")
        bench.commit(batches: [1])
        #expect(try bench.drain().events.count == 1)
    }

    @Test(arguments: Content.allCases, [UInt64(5), 36, 900])
    func aFileWithASegmentsNameHidesNothing(_ content: Content, first: UInt64) throws {
        let storage = MemoryStorage()
        _ = try Self.bench(storage)
        let bytes = try Self.bytes(content, storage)
        #expect(try Self.segments(storage).map { try Self.name($0).id } == [1, 3, 5])
        for id in [2, 0x77, UInt64(1) << 48] {
            let path = Self.path(id, first)
            try check(path, bytes, "\(content) as \(path)")
        }
    }

    /// One segment under two names, the other's with the same id.
    @Test func theSameSegmentTwiceHidesNothing() throws {
        let storage = MemoryStorage()
        _ = try Self.bench(storage)
        for original in Self.segments(storage) {
            let name = try Self.name(original)
            for first in [name.first + 3, 39] {
                let path = Self.path(name.id, first)
                try check(path, try #require(storage.files[original]?.bytes), path)
            }
        }
        // In another log, with its own name.
        let urgent = try #require(Self.segments(storage, "urgent").first)
        let path = urgent.replacing("urgent", with: "normal")
        try check(path, try #require(storage.files[urgent]?.bytes), path)
    }
}

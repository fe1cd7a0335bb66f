import Bytes
import Posix
import Queue
import Testing
import Time

/// Headers with a right checksum and values that no queue writes.
@Suite struct CraftedTests {
    private static let block = 512
    /// Where each field of a batch's header stands, and its size in bytes.
    private static let fields: [(name: String, offset: Int, size: Int)] = [
        ("epoch", 16, 8), ("number", 24, 8), ("first", 32, 8), ("count", 40, 4), ("record bytes", 44, 4),
        ("size", 48, 4), ("context", 52, 2), ("flags", 54, 2), ("context CRC", 56, 4), ("table CRC", 60, 4),
        ("wall", 64, 8), ("age", 72, 8), ("durable", 80, 8),
    ]
    private static let values: [UInt64] = [
        0, 1, 3, 255, 512, 4_095, 4_096, 65_536, 1 << 22, 1 << 31, (1 << 32) - 512, (1 << 32) - 1, 1 << 48,
        (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, .max,
    ]
    private static var options: QueueOptions {
        var options = QueueOptions(maximumBytes: 1 << 20)
        (options.firstSegmentBytes, options.segmentBytes) = (8 << 10, 8 << 10)
        return options
    }

    /// A segment of three batches with two events each.
    private struct Original {
        let storage: MemoryStorage
        let bench: Bench
        let path: String
        let bytes: [UInt8]
        /// Where the batches begin.
        let batches: [Int]
        let seal: UInt32

        init() throws {
            storage = MemoryStorage(physicalBlock: CraftedTests.block)
            bench = try Bench(storage, CraftedTests.options)
            for _ in 0..<3 { bench.commit(batches: [2]) }
            path = try bench.onlySegment
            bench.queue.close()
            let bytes = storage.files[path]?.bytes ?? []
            self.bytes = bytes
            seal = bytes.loadLittleEndian(at: 24, as: UInt32.self)
            batches = stride(from: 0, to: bytes.count, by: CraftedTests.block).filter {
                bytes[$0...].starts(with: Array("UPB1".utf8))
            }
        }

        /// A disk on which fields of the batch have other values, in its header, its trailer, or both.
        func disk(_ changes: [(field: (name: String, offset: Int, size: Int), value: UInt64)], ends: ClosedRange<Int>)
            -> MemoryStorage
        {
            var bytes = bytes
            let start = batches[1]
            let trailer = start + Int(bytes.loadLittleEndian(at: start + 48, as: UInt32.self)) - 136
            for header in [start, trailer + 4][ends] {
                for (field, value) in changes {
                    for index in 0..<field.size {
                        bytes[header + field.offset + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index))
                    }
                }
                bytes.storeLittleEndian(CRC32C.of(bytes, in: header + 8..<header + 128, seed: seal), at: header + 4)
            }
            let crc = CRC32C.of(bytes, in: trailer..<trailer + 132, seed: seal)
            if ends.upperBound == 1 { bytes.storeLittleEndian(crc, at: trailer + 132) }
            let copy = MemoryStorage(physicalBlock: CraftedTests.block)
            copy.folders = storage.folders
            for (name, node) in storage.files {
                copy.files[name] = MemoryStorage.Node(name, name == path ? bytes : node.bytes)
            }
            return copy
        }
    }

    private func check(_ original: Original, _ disk: MemoryStorage, _ what: String) throws {
        let bench = try Bench(disk, Self.options, destinations: ["main", "late"], seed: 9)
        #expect(bench.queue.recovery.age < 1 << 50, "\(what)")
        let accepted = original.bench.accepted[.normal] ?? [:]
        bench.commit(batches: [1])
        let delivery = try bench.drain()
        // A batch that claims the numbers or bytes of the next one hides it, but not the one before.
        for sequence in [UInt64(1), 2] {
            let isRight = delivery.events[sequence] == accepted[sequence]
            #expect(isRight, "\(what): event \(sequence)")
        }
        let others = delivery.events.filter { accepted[$0.key] != $0.value }
        #expect(others.count == 1, "\(what): only the new event is beside what was posted")
        #expect(delivery.events.count + delivery.quarantined.count < 20_000, "\(what)")
        try bench.restart(clean: false)
        let late = try bench.drain(to: "late").events
        let isThere = late[1] == accepted[1] && others.allSatisfy { late[$0.key] == $0.value }
        #expect(isThere, "\(what): for the other destination")
    }

    @Test(arguments: [0...0, 0...1]) func aValueIsNotTrustedForItsChecksum(ends: ClosedRange<Int>) throws {
        let original = try Original()
        #expect(original.batches.count == 3)
        for field in Self.fields {
            for value in Self.values {
                try check(original, original.disk([(field, value)], ends: ends), "\(field.name) \(value) at \(ends)")
            }
        }
    }

    @Test func someValuesAtOnceAreNotTrustedEither() throws {
        let original = try Original()
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<(Process.environment("UPLINKD_THOROUGH_TESTS") == nil ? 100 : 10_000) {
            let changes = (0..<Int.random(in: 2...5, using: &random)).map { _ in
                let field = Self.fields[Int.random(in: 0..<Self.fields.count, using: &random)]
                let value = Self.values[Int.random(in: 0..<Self.values.count, using: &random)]
                return (field, value)
            }
            let what = "seed \(seed), \(changes.map { "\($0.0.name) \($0.1)" })"
            try check(original, original.disk(changes, ends: 0...1), what)
        }
    }
}

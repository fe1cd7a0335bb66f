import Bytes
import Posix
import Queue
import Testing
import Time

@Suite struct InspectionTests {
    /// A queue of two logs and some segments, which one destination has had a part of.
    private static func bench(_ storage: MemoryStorage = MemoryStorage()) throws -> Bench {
        let bench = try Bench(storage, destinations: ["main", "other"])
        for _ in 0..<60 { bench.commit(batches: [1, 3], length: 900) }
        bench.commit(.consent("ads"), batches: [5])
        let chunk = try #require(try bench.queue.read(.normal, for: "main", from: 1, limit: 1, age: 0))
        bench.queue.settle(destination: "main", log: .normal, chunk.dispositions(of: chunk.sequences))
        bench.queue.close()
        return bench
    }

    private static func segments(_ storage: MemoryStorage, _ log: String = "normal") -> [String] {
        storage.files.keys.filter { $0.hasPrefix("logs/\(log)/") && $0.hasSuffix(".segment") }.sorted()
    }

    private struct Exported {
        var events: [LogName: [UInt64: [UInt8]]] = [:]
        var unreadable: UInt64 = 0
        var damages: [Verification.Damage] = []
    }

    private func export(_ storage: MemoryStorage, everything: Bool = true) throws -> Exported {
        let export = try Export(try Inspection(storage), everything: everything)
        var found = Exported()
        while let chunk = try export.next() {
            for record in chunk.records {
                let earlier = found.events[chunk.log, default: [:]].updateValue(
                    Array(chunk.bytes[record.range]), forKey: record.sequence)
                #expect(earlier == nil, "event \(record.sequence) comes twice")
            }
        }
        found.unreadable = export.unreadable
        found.damages = export.damages
        return found
    }

    @Test func allThatIsThereIsCountedAndNothingChanges() throws {
        let storage = MemoryStorage()
        let bench = try Self.bench(storage)
        storage.calls = []
        let found = try Inspection(storage).verify()
        #expect(found.faults.isEmpty)
        #expect(found.logs.map(\.name) == [.normal, .consent("ads")])
        #expect(found.logs.map(\.events) == [240, 5])
        #expect(found.logs.map(\.batches) == [120, 1])
        #expect(found.logs.map(\.sequences) == [1...240, 1...5])
        #expect(found.logs[0].segments == Self.segments(storage).count && found.logs[0].segments > 3)
        #expect(found.cursors.map(\.destination).sorted() == ["main", "main", "other", "other"])
        #expect(found.cursors.first { $0.destination == "main" && $0.log == .normal }?.queued == 239)
        #expect(try export(storage).events == bench.accepted)
        for call in storage.calls {
            switch call {
            case .open, .names, .read: break
            default: Issue.record("\(call)")
            }
        }
        #expect(storage.files["LOCK"]?.isLocked == false)
    }

    @Test func whatEverybodyHasIsExportedOnlyWhenAskedFor() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["main", "other"])
        for _ in 0..<20 { bench.commit() }
        for destination in ["main", "other"] {
            let chunk = try #require(try bench.queue.read(.normal, for: destination, from: 1, limit: 1, age: 0))
            bench.queue.settle(destination: destination, log: .normal, chunk.dispositions(of: chunk.sequences))
        }
        bench.queue.close()
        #expect(try export(storage, everything: false).events[.normal]?.keys.sorted() == Array(2...20))
        #expect(try export(storage).events == bench.accepted)
        storage.files["cursors"]?.bytes[4_096 + 5] ^= 1
        #expect(try export(storage, everything: false).events[.normal]?.count == 19, "a copy is whole")
        storage.files["cursors"]?.bytes[5] ^= 1
        #expect(try export(storage, everything: false).events == bench.accepted)
        storage.files["cursors"] = nil
        #expect(try export(storage, everything: false).events == bench.accepted)
        #expect(try Inspection(storage).verify().faults.map(\.kind) == [.missing])
    }

    @Test func aFlippedByteIsNamedAndCostsAtMostItsEvent() throws {
        let original = MemoryStorage()
        let bench = try Self.bench(original)
        let used = original.files.filter { $0.key.hasSuffix(".segment") || $0.key == "FORMAT" || $0.key == "cursors" }
        var random = SplitMix64(seed: 11)
        var costs = [0, 0]
        var tries = 0
        while tries < 60 {
            let path = used.keys.sorted()[Int(random.next() % UInt64(used.count))]
            guard let node = used[path] else { break }
            let offset = Int(random.next() % UInt64(node.bytes.count))
            // Between what is written there are zeros, which nobody looks at.
            guard node.bytes[offset] != 0 else { continue }
            tries += 1
            let storage = MemoryStorage()
            storage.folders = original.folders
            storage.files = original.files.mapValues { MemoryStorage.Node($0.path, $0.bytes) }
            storage.files[path]?.bytes[offset] ^= UInt8(1 << (random.next() % 8))
            let faults = try Inspection(storage).verify().faults
            #expect(faults.contains { $0.path == path }, "seed 11: \(path) at \(offset)")
            let found = try export(storage)
            let lost = bench.accepted.reduce(0) { $0 + $1.value.count } - found.events.reduce(0) { $0 + $1.value.count }
            #expect(lost <= 1 && found.unreadable == UInt64(lost), "seed 11: \(path) at \(offset)")
            #expect(found.damages.count == lost)
            costs[min(lost, 1)] += 1
            for (log, events) in found.events {
                #expect(events.allSatisfy { bench.accepted[log]?[$0.key] == $0.value })
            }
        }
        #expect(costs.allSatisfy { $0 > 0 }, "\(costs)")
    }

    @Test func missingSegmentsAreGaps() throws {
        let storage = MemoryStorage()
        let bench = try Self.bench(storage)
        let gone = Self.segments(storage)[1]
        storage.files[gone] = nil
        let found = try Inspection(storage).verify()
        #expect(found.faults.map(\.kind) == [.missing])
        let gap = try #require(found.logs[0].gaps.first)
        #expect(found.faults[0].sequences == gap)
        let exported = try export(storage)
        #expect(exported.events[.normal] == bench.accepted[.normal]?.filter { !gap.contains($0.key) })
        #expect(exported.unreadable == UInt64(gap.count) && exported.damages.map(\.kind) == [.missing])
    }

    @Test func anOldestOrNewestSegmentThatCursorsNeedIsMissed() throws {
        for isOldest in [true, false] {
            let storage = MemoryStorage()
            let bench = try Bench(storage)
            for _ in 0..<60 { bench.commit(batches: [4], length: 900) }
            if !isOldest { _ = try bench.drain() }
            bench.queue.close()
            let all = Self.segments(storage)
            storage.files[isOldest ? all[0] : all[all.count - 1]] = nil
            let faults = try Inspection(storage).verify().faults
            #expect(faults.map(\.kind) == [.missing], "\(faults)")
        }
    }

    @Test func segmentsThatGoWhileTheyAreReadAreNoDamage() throws {
        let storage = MemoryStorage()
        let bench = try Self.bench(storage)
        let all = Self.segments(storage)
        for opened in [0, 1] {
            storage.fault = { call in
                // A daemon takes the file for its next segment and overwrites it.
                guard case .read(all[opened], _) = call, let node = storage.files.removeValue(forKey: all[opened])
                else { return nil }
                for other in all[..<opened] { storage.files[other] = nil }
                node.bytes = [UInt8](repeating: 7, count: node.bytes.count)
                return nil
            }
            let saved = storage.files.mapValues { MemoryStorage.Node($0.path, $0.bytes) }
            #expect(try Inspection(storage).verify().logs.allSatisfy { $0.gaps.isEmpty && $0.damages.isEmpty })
            #expect(storage.files[all[opened]] == nil)
            storage.files = saved.mapValues { MemoryStorage.Node($0.path, $0.bytes) }
            let found = try export(storage)
            #expect(storage.files[all[opened]] == nil)
            #expect(found.unreadable == 0 && found.damages.isEmpty)
            #expect(found.events[.normal]?[240] == bench.accepted[.normal]?[240])
            storage.files = saved
        }
    }

    @Test func aBatchThatIsBeingWrittenIsNoDamage() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        let path = try bench.onlySegment
        let before = try #require(storage.files[path]?.bytes)
        bench.commit(batches: [3])
        let after = try #require(storage.files[path]?.bytes)
        let start = try #require(after.indices.first { after[$0] != before[$0] })
        let end = try #require(after.indices.last { after[$0] != before[$0] }) + 1
        for written in stride(from: start, to: end, by: 512) {
            storage.files[path]?.bytes = Array(after[..<written] + before[written...])
            #expect(try Inspection(storage).verify().faults.isEmpty, "\(written - start) of \(end - start) bytes")
            #expect(try export(storage).unreadable == 0)
        }
    }

    @Test func eventsThatWereCommittedAgainComeOnce() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(batches: [2])
        let path = try bench.onlySegment
        storage.fault = { $0 == .synchronise(path) ? .io : nil }
        bench.commit(batches: [2])
        storage.fault = nil
        bench.queue.close()
        #expect(Self.segments(storage).count == 2)
        #expect(bench.accepted[.normal]?.count == 4)
        #expect(try export(storage).events == bench.accepted)
        let found = try Inspection(storage).verify()
        #expect(found.faults.isEmpty && found.logs[0].events == 4 && found.logs[0].sequences == 1...4)
    }

    @Test func deadLettersAreReadAndThoseToBeSentAgainAreExported() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<60 { bench.commit(batches: [4], length: 900) }
        let letters = try [3, 5].map { sequence in
            DeadLetter(
                destination: "main", log: .normal, id: EventID(epoch: 77, sequence: sequence),
                event: try #require(bench.accepted[.normal]?[sequence]), acceptedAt: nil, status: 400, attempts: 1,
                at: WallTime(milliseconds: 6_000), detail: [])
        }
        try bench.queue.bury(letters)
        _ = try bench.drain()
        #expect(try bench.queue.retry([letters[1].name]) == 1)
        bench.housekeep()
        bench.queue.close()
        #expect(try export(storage, everything: false).events == [.normal: [5: letters[1].event]])
        let kept = try export(storage).events[.normal] ?? [:]
        #expect(kept[3] == letters[0].event && kept[5] == letters[1].event && kept[240] != nil && kept[1] == nil)
        let found = try Inspection(storage).verify()
        #expect(found.faults.isEmpty && found.deadLetters.count == 2 && found.deadLetters.retried == 1)
        let path = try #require(storage.files.keys.first { $0.hasSuffix(".retry") })
        storage.files[path]?.bytes[60] ^= 1
        #expect(try Inspection(storage).verify().faults.map(\.path) == [path])
        let damaged = try export(storage, everything: false)
        #expect(damaged.events.isEmpty && damaged.unreadable == 1 && damaged.damages.map(\.path) == [path])
    }

    @Test func aFileThatCannotBeOpenedIsTold() throws {
        let storage = MemoryStorage()
        let bench = try Self.bench(storage)
        let all = Self.segments(storage)
        for path in [all[1], all[all.count - 1]] {
            storage.fault = { $0 == .open(path) ? .io : nil }
            let found = try export(storage)
            #expect(found.events[.consent("ads")] == bench.accepted[.consent("ads")])
            let missing = (bench.accepted[.normal]?.count ?? 0) - (found.events[.normal]?.count ?? 0)
            #expect(missing > 0 && found.damages.map(\.path) == ["logs/normal"])
            #expect(found.unreadable == (path == all[1] ? UInt64(missing) : 0))
        }
    }

    @Test func whatADaemonHasNamedIsNamedAgain() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for _ in 0..<60 { bench.commit(batches: [4], length: 900) }
        storage.files[Self.segments(storage)[0]]?.bytes[4_096 + 2_000] ^= 1
        let first = try #require(try bench.queue.read(.normal, for: "main", from: 1, limit: 1_000_000, age: 0))
        let lost = first.disposed.map(\.sequences)
        #expect(lost.count == 1 && bench.queue.takeDamages().count == 1)
        let found = try export(storage)
        #expect(found.unreadable == 1 && found.damages.map(\.sequences) == lost)
        #expect(try Inspection(storage).quarantined.isEmpty)
        bench.queue.settle(destination: "main", log: .normal, first.dispositions(of: first.sequences))
        bench.queue.close()
        let inspection = try Inspection(storage)
        #expect(inspection.quarantined == ["main": 1] && inspection.quarantine().files == 1)
        #expect(try export(storage, everything: false).unreadable == 0)
    }

    @Test func holesAreNotRead() throws {
        let folder = try Folder()
        let storage = FileStorage(directory: folder.path)
        let bench = try Bench(storage)
        bench.commit(batches: [3])
        let path = try bench.onlySegment
        let busy = BusyStorage(storage)
        bench.commit(batches: [3])
        bench.queue.close()
        let tail = 1 << 30
        try storage.open(path, .readWrite).write([0], in: 0..<1, at: tail)
        var reads = 0
        busy.before = { call in if case .read(path, _) = call { reads += 1 } }
        let found = try Inspection(busy).verify()
        #expect(found.faults.isEmpty && found.logs[0].events == 6 && found.logs[0].bytes == tail + 1)
        #expect(reads < 100)
        reads = 0
        let export = try Export(try Inspection(busy), everything: true)
        #expect(try export.next()?.records.count == 6)
        #expect(reads < 100)
    }

    @Test func withoutFormatTheSegmentsTellWhoseTheyAre() throws {
        let storage = MemoryStorage()
        let bench = try Self.bench(storage)
        storage.files["FORMAT"]?.bytes = [UInt8](repeating: 9, count: 4_096)
        #expect(try export(storage).events == bench.accepted)
        #expect(try Inspection(storage).verify().faults.map(\.kind) == [.corrupted])
        storage.files["FORMAT"] = nil
        #expect(try export(storage).events == bench.accepted)
        #expect(try Inspection(storage).verify().faults.map(\.kind) == [.missing])
    }

    @Test func otherDirectoriesAreRefused() throws {
        let storage = MemoryStorage()
        #expect(throws: QueueError.notOurs(path: "/queue", detail: "it holds no FORMAT")) { try Inspection(storage) }
        _ = try Self.bench(storage)
        for copy in [0, 2_048] {
            var sheet = Array(storage.files["FORMAT"]?.bytes[copy..<copy + 512] ?? [])
            sheet.storeLittleEndian(UInt16(2), at: 12)
            sheet.storeLittleEndian(CRC32C.of(sheet, in: 12..<512), at: 8)
            storage.files["FORMAT"]?.bytes.replaceSubrange(copy..<copy + 512, with: sheet)
        }
        #expect(throws: QueueError.unknownFormat(path: "/queue/FORMAT", version: 2, features: 0)) {
            try Inspection(storage)
        }
        #expect(throws: QueueError.missingDirectory(path: "/no/such")) {
            try Inspection(FileStorage(directory: "/no/such"))
        }
        #expect(throws: QueueError.notOurs(path: "/etc/passwd", detail: "not a directory")) {
            try Inspection(FileStorage(directory: "/etc/passwd"))
        }
    }
}

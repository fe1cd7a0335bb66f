import Bytes
import JSON
import Posix
import Queue
import Testing
import Time

/// Directories that released versions have written are read as they were meant.
@Suite struct FixtureTests {
    private static let root = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/") + "/Fixtures"

    private static func copy(_ from: String, to: String) throws {
        for name in try FileSystem.names(in: from) {
            let (from, to) = ("\(from)/\(name)", "\(to)/\(name)")
            if try FileSystem.status(of: from).kind == .directory {
                try FileSystem.makeDirectory(to, mode: 0o700)
                try copy(from, to: to)
            } else {
                let bytes = try FileSystem.contents(of: from, limit: 1 << 24)
                let file = try FileDescriptor.open(to, [.readWrite, .create])
                try file.write(bytes, in: 0..<bytes.count, at: 0)
            }
        }
    }

    /// What `expected.json` says.
    private struct Expected {
        var events: [LogName: [UInt64: (id: String, event: JSONValue)]] = [:]
        /// Of `normal`: one that cannot be read, one that was purged, and one that is dead for the collector.
        var lost: UInt64 = 0
        var hole: UInt64 = 0
        var dead: UInt64 = 0
        var cursors: [JSONValue]

        init(_ json: [UInt8]) throws {
            let value = try JSONValue(parsing: json)
            for each in value["events"]?.array ?? [] {
                let log = try #require(LogName(text: each["log"]?.string ?? ""))
                let id = try #require(each["id"]?.string)
                events[log, default: [:]][try Self.sequence(id)] = (id, try #require(each["event"]))
            }
            lost = try Self.sequence(try #require(value["lost"]?.string))
            hole = try Self.sequence(try #require(value["hole"]?.string))
            dead = try Self.sequence(try #require(value["dead"]?.string))
            cursors = value["cursors"]?.array ?? []
        }

        private static func sequence(_ id: String) throws -> UInt64 {
            try #require(UInt64(id.split(separator: "-").last ?? ""))
        }
    }

    /// Looks at a queue, then opens it and has all of it delivered.
    private func check(_ folder: String, _ expected: Expected) throws {
        let storage = FileStorage(directory: folder)
        let found = try Inspection(storage).verify()
        #expect(found.faults.count == 1 && found.faults[0].kind == .corrupted)
        #expect(found.faults.first?.sequences == expected.lost...expected.lost)
        #expect(found.deadLetters.count == 1 && found.logs.map(\.holes).reduce(0, +) == 1)
        let export = try Export(try Inspection(storage), everything: true)
        var exported = 0
        while let chunk = try export.next() { exported += chunk.records.count }
        #expect(exported == expected.events.reduce(0) { $0 + $1.value.count })
        #expect(export.unreadable == 1)

        let bench = try Bench(storage, FixtureWriter.options, destinations: FixtureWriter.destinations)
        #expect(bench.queue.recovery.cursorsReset.isEmpty && bench.queue.recovery.strays.isEmpty)
        #expect(expected.cursors.count == 8)
        for cursor in expected.cursors {
            let destination = try #require(cursor["destination"]?.string)
            let log = try #require(LogName(text: cursor["log"]?.string ?? ""))
            let low = UInt64(try #require(cursor["low"]?.integer))
            let before = try #require(bench.queue.cursor(destination: destination, log: log))
            #expect(before.low == low && before.origin == cursor["origin"]?.integer.map { UInt64($0) })
            #expect(before.ledger.delivered == cursor["delivered"]?.integer.map { UInt64($0) })
            let dead = log == .normal && destination == "collector" ? [expected.dead] : []
            let due = try #require(expected.events[log]).filter { $0.key >= low && !dead.contains($0.key) }
            let delivery = try bench.drain(log, to: destination)
            #expect(delivery.ids.mapValues(\.text.text) == due.mapValues(\.id))
            for (sequence, event) in delivery.events { #expect(try JSONValue(parsing: event) == due[sequence]?.event) }
            #expect(delivery.quarantined == (log == .normal ? [expected.lost] : []))
            #expect(delivery.purged == (log == .normal ? [expected.hole] : []))
            #expect(delivery.dead == dead)
        }
        bench.queue.close()
    }

    @Test func format1() throws {
        let folder = try Folder()
        try Self.copy(Self.root + "/queues/1/queue", to: folder.path)
        try check(folder.path, Expected(FileSystem.contents(of: Self.root + "/queues/1/expected.json", limit: 1 << 20)))
    }

    @Test func whatIsWrittenNow() throws {
        let folder = try Folder()
        let writer = try FixtureWriter(folder.path)
        if let target = Process.environment("UPLINKD_WRITE_FIXTURE") {
            try FileSystem.makeDirectory(target + "/queue", mode: 0o700)
            try Self.copy(folder.path, to: target + "/queue")
            let file = try FileDescriptor.open(target + "/expected.json", [.readWrite, .create, .truncate])
            try file.write(writer.expected, in: 0..<writer.expected.count, at: 0)
        }
        try check(folder.path, Expected(writer.expected))
    }
}

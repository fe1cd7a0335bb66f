import Bytes
import JSON
import Posix
import Queue
import Testing
import Time

/// Writes a small queue that has something of everything, and what is to be found in it.
///
/// `Tests/Fixtures/queues/1` was written by this: `UPLINKD_WRITE_FIXTURE=DIR swift test --filter FixtureTests`.
struct FixtureWriter {
    static let destinations = ["collector", "archive"]
    static let logs: [LogName] = [.urgent, .normal, .bulk, .consent("ads")]

    static var options: QueueOptions {
        var options = QueueOptions(maximumBytes: 4 << 20, keepFree: .bytes(0), block: 512)
        options.firstSegmentBytes = 16_384
        options.segmentBytes = 16_384
        return options
    }

    private let bench: Bench
    private var ids: [LogName: [UInt64: EventID]] = [:]
    private var lost: EventID?
    private var hole: EventID?
    private var letter: EventID?
    private var cursors: [QueueSnapshot.Cursor] = []

    /// Makes the queue in `folder`, an empty directory.
    init(_ folder: String) throws {
        bench = try Bench(FileStorage(directory: folder), Self.options, destinations: Self.destinations, seed: 19)
        for _ in 0..<14 { commit(.normal, [1, 2], length: 700) }
        commit(.urgent, [3], length: 40)
        commit(.consent("ads"), [2, 2], length: 60)
        try settle("collector", .normal, limit: 3_000)
        try settle("archive", .urgent, limit: 1_000)
        try bury("collector", .normal, 6)
        try purge(.normal, 30)
        try bench.restart(clean: false)
        commit(.normal, [2], length: 50)
        commit(.bulk, [1], length: 3_000)
        try settle("collector", .consent("ads"), limit: 100)
        cursors = bench.queue.snapshot.cursors
        bench.queue.close()
        try damage(.normal, 20, in: folder)
    }

    private mutating func commit(_ log: LogName, _ sizes: [Int], length: Int) {
        for case .committed(let log, let epoch, let first, let count) in bench.commit(
            log, batches: sizes, length: length)
        {
            for sequence in first..<first + UInt64(count) {
                ids[log, default: [:]][sequence] = EventID(epoch: epoch, sequence: sequence)
            }
        }
    }

    private func settle(_ destination: String, _ log: LogName, limit: Int) throws {
        let chunk = try #require(try bench.queue.read(log, for: destination, from: 1, limit: limit, age: 0))
        bench.queue.settle(destination: destination, log: log, chunk.dispositions(of: chunk.sequences))
    }

    private mutating func bury(_ destination: String, _ log: LogName, _ sequence: UInt64) throws {
        let id = try #require(ids[log]?[sequence])
        let event = try #require(bench.accepted[log]?[sequence])
        let letter = DeadLetter(
            destination: destination, log: log, id: id, event: event, acceptedAt: WallTime(milliseconds: 5_000),
            status: 422, attempts: 2, at: WallTime(milliseconds: 9_000), detail: Array("no such field".utf8))
        try bench.queue.bury([letter])
        self.letter = id
    }

    private mutating func purge(_ log: LogName, _ sequence: UInt64) throws {
        let id = try #require(ids[log]?[sequence])
        #expect(try bench.queue.purge(id: id) == 1)
        bench.accepted[log]?[sequence] = nil
        hole = id
    }

    /// Flips a bit of an event where it stands.
    private mutating func damage(_ log: LogName, _ sequence: UInt64, in folder: String) throws {
        let event = try #require(bench.accepted[log]?[sequence])
        bench.accepted[log]?[sequence] = nil
        for name in try FileSystem.names(in: "\(folder)/logs/\(log.text)") where name.hasSuffix(".segment") {
            let path = "\(folder)/logs/\(log.text)/\(name)"
            let bytes = try FileSystem.contents(of: path, limit: 1 << 20)
            guard let place = bytes.firstRange(of: event)?.lowerBound else { continue }
            let file = try FileDescriptor.open(path, .readWrite)
            try file.write([bytes[place + 9] ^ 4], in: 0..<1, at: Int64(place + 9))
            lost = ids[log]?[sequence]
        }
        #expect(lost != nil)
    }

    /// What is to be found, as JSON.
    var expected: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("events")
        json.beginArray()
        for log in Self.logs {
            for (sequence, event) in (bench.accepted[log] ?? [:]).sorted(by: { $0.key < $1.key }) {
                json.beginObject()
                json.member("log", log.text)
                json.member("id", ids[log]?[sequence]?.text.text)
                json.name("event")
                json.raw(event)
                json.endObject()
            }
        }
        json.endArray()
        json.member("lost", lost?.text.text)
        json.member("hole", hole?.text.text)
        json.member("dead", letter?.text.text)
        json.name("cursors")
        json.beginArray()
        for cursor in cursors {
            json.beginObject()
            json.member("destination", cursor.destination)
            json.member("log", cursor.log.text)
            json.member("low", cursor.low)
            json.member("origin", cursor.origin)
            json.member("delivered", cursor.ledger.delivered)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes + [0x0A]
    }
}

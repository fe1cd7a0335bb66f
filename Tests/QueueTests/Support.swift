import Bytes
import Gates
import Posix
import Queue
import Reachability
import Testing
import Time

/// A queue under test and what was accepted by it.
final class Bench {
    let storage: any Storage
    private var held: Queue?
    var options: QueueOptions
    var destinations: [String]
    /// The events that were committed, by log and sequence number.
    var accepted: [LogName: [UInt64: [UInt8]]] = [:]
    /// What each destination was given, whether or not that was made durable.
    var given: [String: [LogName: [UInt64: [UInt8]]]] = [:]
    /// The age clock, milliseconds.
    var age: UInt64 = 20_000
    /// The wall clock of commits.
    var wall = WallTime(milliseconds: 10_000)
    private var seed: SplitMix64
    private var number = 0

    static let context = AcceptContext(
        connectionType: .ethernet, closed: [AcceptContext.ClosedGate(destination: "main", gate: .connectivity)])

    /// Segments of 64 KiB, which keep the tests quick.
    static var smallSegments: QueueOptions {
        var options = QueueOptions(maximumBytes: 64 << 20)
        options.firstSegmentBytes = 64 * 1_024
        options.segmentBytes = 64 * 1_024
        return options
    }

    init(
        _ storage: any Storage, _ options: QueueOptions = Bench.smallSegments, destinations: [String] = ["main"],
        seed: UInt64 = 1
    ) throws {
        self.storage = storage
        self.options = options
        self.destinations = destinations
        self.seed = SplitMix64(seed: seed)
        held = try Self.open(storage, options, destinations, &self.seed)
    }

    var queue: Queue {
        guard let held else { preconditionFailure("the queue is not open") }
        return held
    }

    private static func open(
        _ storage: any Storage, _ options: QueueOptions, _ destinations: [String], _ seed: inout SplitMix64
    ) throws(QueueError) -> Queue {
        var random = SplitMix64(seed: seed.next())
        return try Queue.open(
            storage, options: options, destinations: destinations, at: WallTime(milliseconds: 1_000),
            randomBits: { random.next() }, clock: { Instant(nanoseconds: 0) })
    }

    /// Opens the queue again, after a clean end or as after a kill.
    func restart(clean: Bool = true) throws(QueueError) {
        if clean { queue.close() }
        held = nil
        held = try Self.open(storage, options, destinations, &seed)
    }

    /// A JSON object of that length, unlike every other.
    func event(_ length: Int) -> [UInt8] {
        number += 1
        var bytes: [UInt8] = Array("{\"n\":".utf8)
        bytes.append(decimal: number)
        bytes += Array(",\"x\":\"".utf8)
        while bytes.count < length - 2 { bytes.append(UInt8(ascii: "a") + UInt8(bytes.count * number % 26)) }
        return bytes + Array("\"}".utf8)
    }

    func batch(
        _ log: LogName, _ events: [[UInt8]], context: AcceptContext = Bench.context, timeToLive: UInt32 = 0
    ) -> OpenBatch {
        var batch = OpenBatch(log: log, context: context)
        let wall = WallTime(milliseconds: 5_000)
        for event in events { _ = batch.append(event.span, acceptedAt: wall, timeToLiveSeconds: timeToLive) }
        return batch
    }

    /// Commits batches of so many events each; what became of each.
    @discardableResult
    func commit(
        _ log: LogName = .normal, batches sizes: [Int] = [1], length: Int = 300, timeToLive: UInt32 = 0
    ) -> [CommitOutcome] {
        let events = sizes.map { size in (0..<size).map { _ in event(length) } }
        var batches = events.map { batch(log, $0, timeToLive: timeToLive) }
        let outcomes = queue.commit(&batches, at: wall, age: age)
        for (outcome, events) in zip(outcomes, events) {
            guard case .committed(let log, _, let first, let count) = outcome else { continue }
            #expect(count == events.count)
            for (index, event) in events.enumerated() {
                #expect(accepted[log]?[first + UInt64(index)] == nil, "a sequence number was given twice")
                accepted[log, default: [:]][first + UInt64(index)] = event
            }
        }
        return outcomes
    }

    /// What a destination got of a log.
    struct Delivery {
        var events: [UInt64: [UInt8]] = [:]
        var ids: [UInt64: EventID] = [:]
        var quarantined: [UInt64] = []
        var dead: [UInt64] = []
        var purged: [UInt64] = []
        var expired: [UInt64] = []
        var contexts: Set<AcceptContext> = []
        var chunks = 0
    }

    /// Reads from a destination's cursor to the end, settling each chunk.
    func drain(_ log: LogName = .normal, to destination: String = "main", limit: Int = 256 * 1_024) throws -> Delivery {
        var delivery = Delivery()
        while let cursor = queue.cursor(destination: destination, log: log),
            let chunk = try queue.read(log, for: destination, from: cursor.low, limit: limit, age: age)
        {
            #expect(chunk.sequences.lowerBound == cursor.low)
            var sequences: [UInt64] = []
            for record in chunk.records {
                let event = Array(chunk.bytes[record.range])
                delivery.events[record.sequence] = event
                given[destination, default: [:]][log, default: [:]][record.sequence] = event
                delivery.ids[record.sequence] = EventID(epoch: chunk.epoch, sequence: record.sequence)
                delivery.contexts.insert(chunk.contexts[record.context])
                sequences.append(record.sequence)
            }
            for run in chunk.disposed {
                sequences += Array(run.sequences)
                switch run.kind {
                case .quarantined: delivery.quarantined += Array(run.sequences)
                case .expired: delivery.expired += Array(run.sequences)
                case .dead: delivery.dead += Array(run.sequences)
                case .purged: delivery.purged += Array(run.sequences)
                default: Issue.record("\(run.kind)")
                }
            }
            #expect(sequences.sorted() == Array(chunk.sequences), "a chunk accounts for each event once")
            #expect(chunk.records.map(\.sequence) == chunk.records.map(\.sequence).sorted())
            queue.settle(destination: destination, log: log, chunk.dispositions(of: chunk.sequences))
            delivery.chunks += 1
        }
        checkSums()
        return delivery
    }

    /// The promise: for each destination and log, accepted = settled + queued.
    func checkSums() {
        let snapshot = queue.snapshot
        for cursor in snapshot.cursors {
            let accepted = snapshot.logs.first { $0.name == cursor.log }?.accepted ?? 0
            #expect(cursor.origin + cursor.ledger.total + cursor.queued == accepted)
            #expect(cursor.low - 1 - cursor.origin == cursor.ledger.total)
        }
    }

    /// Does background work until none is due within a minute.
    func housekeep(from start: Int64 = 0) {
        var now = Instant(nanoseconds: start)
        let end = now + .seconds(60)
        var turns = 0
        while let next = queue.housekeep(at: now, age: age), next <= end {
            now = max(now, next)
            turns += 1
            if turns > 10_000 {
                Issue.record("housekeeping does not end")
                return
            }
        }
    }

    var onlySegment: String {
        get throws {
            let names = try storage.names(in: "logs/normal").filter { $0 != "spare" }
            return "logs/normal/" + (try #require(names.last))
        }
    }
}

/// A directory of its own on the file system, gone with the test.
final class Folder {
    let path: String

    init() throws {
        path = "/tmp/uplinkd-queue-\(Process.identifier)-\(SystemRandom.bits())"
        try FileSystem.makeDirectory(path, mode: 0o700)
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        guard let status = try? FileSystem.status(of: path) else { return }
        if status.kind == .directory {
            for name in (try? FileSystem.names(in: path)) ?? [] { remove(path + "/" + name) }
            try? FileSystem.removeDirectory(path)
        } else {
            try? FileSystem.unlink(path)
        }
    }
}

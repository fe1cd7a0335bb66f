import Bytes
import Gates
import Posix
import Queue
import Reachability
import Simulator
import Time

/// A seeded life of the real queue on a simulated disk: clients, two collectors, faults and ends.
///
/// Throws `Broken` where the promise is broken.
final class QueueLife {
    struct Broken: Error, CustomStringConvertible {
        enum Kind { case lost, other }
        let kind: Kind
        let description: String
    }

    /// Which faults there are.
    struct Faults {
        var errors = true
        var damage = true
        var crashesInCalls = true
        var liesAboutSyncs = false
    }

    struct Event {
        let epoch: UInt64
        let bytes: [UInt8]
    }

    struct Pair: Hashable {
        let destination: String
        let log: LogName
    }

    /// What was settled, as ledgers at each place where the cursor has been.
    struct History {
        var ledgers: [UInt64: Ledger] = [1: Ledger()]
        var low: UInt64 = 1
        /// How far a sync that returned has confirmed it.
        var durableLow: UInt64 = 1
    }

    static let destinations = ["first", "second"]
    static let logs: [LogName] = [.urgent, .normal]

    let disk: SimulatedDisk
    let faults: Faults
    private var held: Queue?
    var random: SplitMix64
    private var epochs: SplitMix64
    var now = Instant(nanoseconds: 1_000_000_000)
    private var number = 0
    /// What clients posted, by what a repeat is told by.
    var posted: [DuplicateKey: [UInt8]] = [:]
    /// What clients were told is accepted.
    var acknowledged: [LogName: [UInt64: Event]] = [:]
    var histories: [Pair: History] = [:]
    /// Segments with a changed byte.
    var flipped: Set<String> = []
    /// Ranges that starts and reads have named.
    var named: [LogName: [ClosedRange<UInt64>]] = [:]
    /// Acknowledged events that cannot be read any more.
    var lost: [LogName: Set<UInt64>] = [:]
    /// Whether a process ended before it could tell what it found damaged.
    var mayMissNames = false
    var crashes = 0
    /// Logs that have to commit before the disk loses what a failed sync took back.
    private var owing: Set<LogName> = []
    var trace: [String] = []

    init(seed: UInt64, faults: Faults) throws {
        random = SplitMix64(seed: seed)
        epochs = SplitMix64(seed: seed ^ 0xE90C)
        disk = SimulatedDisk(seed: seed ^ 0xD15C, physicalBlock: 512)
        self.faults = faults
        disk.revertsIn = "logs/"
        disk.ignoresSyncs = faults.liesAboutSyncs
        try open()
    }

    var queue: Queue {
        guard let held else { preconditionFailure("the queue is not open") }
        return held
    }

    private func open() throws {
        var options = QueueOptions(maximumBytes: 4 << 20, keepFree: .bytes(0), block: 512)
        options.firstSegmentBytes = 4 << 10
        options.segmentBytes = 8 << 10
        var bits = SplitMix64(seed: epochs.next())
        held = nil
        held = try Queue.open(
            disk, options: options, destinations: Self.destinations, at: WallTime(milliseconds: 1_000),
            randomBits: { bits.next() }, clock: { Instant(nanoseconds: 0) })
    }

    func run(operations: Int) throws {
        for _ in 0..<operations {
            if faults.crashesInCalls, chance(4) { disk.crashStep = disk.steps + Int.random(in: 0..<12, using: &random) }
            try act()
            if disk.hasCrashed {
                note("crash")
                mayMissNames = true
                try restart(after: chance(50) ? .kill : .powerCut)
            }
        }
        try restart(after: .powerCut)
        try finish()
    }

    private func act() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<40: commit(to: Self.logs.filter { _ in chance(60) })
        case 40..<70: try deliver()
        case 70..<80: try housekeep()
        case 80..<84:
            note("sync cursors")
            synchroniseCursors()
        case 84..<88: if faults.errors { arm() }
        case 88..<92: if faults.damage { flip() }
        case 92..<94:
            synchroniseCursors()
            if !disk.hasCrashed { queue.close() }
            try restart(after: .kill)
        case 94..<96: try restart(after: .kill)
        case 96..<98: try restart(after: .powerCut)
        default: break
        }
    }

    func commit(to logs: [LogName]) {
        let context = AcceptContext(connectionType: .ethernet, closed: [])
        var batches: [OpenBatch] = []
        var events: [[[UInt8]]] = []
        for log in logs {
            var batch = OpenBatch(log: log, context: context)
            let new = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                let event = makeEvent()
                let key = DuplicateKey(low: UInt64(number), high: 0)
                posted[key] = event
                _ = batch.append(event.span, acceptedAt: WallTime(milliseconds: 5_000), duplicateKey: key)
                return event
            }
            batches.append(batch)
            events.append(new)
        }
        guard !batches.isEmpty else { return }
        let outcomes = queue.commit(&batches, at: WallTime(milliseconds: 10_000), age: 20_000)
        note("commit \(logs.map(\.text)) \(events.map(\.count))")
        guard !disk.hasCrashed else { return }
        for (index, outcome) in outcomes.enumerated() {
            guard case .committed(let log, let epoch, let first, _) = outcome else {
                note("  refused \(logs[index].text)")
                continue
            }
            note("  \(log.text) from \(first)")
            owing.remove(log)
            for (offset, bytes) in events[index].enumerated() {
                acknowledged[log, default: [:]][first + UInt64(offset)] = Event(epoch: epoch, bytes: bytes)
            }
        }
        if owing.isEmpty { disk.loseReverted() }
    }

    private func makeEvent() -> [UInt8] {
        number += 1
        var bytes: [UInt8] = Array("{\"n\":".utf8)
        bytes.append(decimal: number)
        bytes += Array(",\"x\":\"".utf8)
        let length = chance(15) ? 900 : Int.random(in: 0..<200, using: &random)
        bytes += [UInt8](repeating: UInt8(ascii: "a") + UInt8(number % 26), count: length)
        return bytes + Array("\"}".utf8)
    }

    /// Reads a chunk and, unless the request fails, settles it.
    private func deliver() throws {
        let destination = Self.destinations[Int.random(in: 0..<2, using: &random)]
        let log = Self.logs[Int.random(in: 0..<2, using: &random)]
        _ = try deliver(destination, log, limit: Int.random(in: 100...3_000, using: &random), answered: chance(80))
    }

    /// True where there was something.
    func deliver(_ destination: String, _ log: LogName, limit: Int, answered: Bool) throws -> Bool {
        guard let cursor = queue.cursor(destination: destination, log: log) else { return false }
        let chunk: Chunk?
        do {
            chunk = try queue.read(log, for: destination, from: cursor.low, limit: limit, age: 0)
        } catch {
            if disk.hasCrashed { return false }
            throw error
        }
        guard !disk.hasCrashed, let chunk else { return false }
        takeDamages()
        note("deliver \(destination) \(log.text) \(chunk.sequences) disposed \(chunk.disposed)")
        let counts = try check(chunk, low: cursor.low)
        guard answered else { return true }
        let pair = Pair(destination: destination, log: log)
        var ledger = cursor.ledger
        ledger += counts
        var history = histories[pair, default: History()]
        history.ledgers[chunk.sequences.upperBound + 1] = ledger
        queue.settle(destination: destination, log: log, chunk.dispositions(of: chunk.sequences))
        if !disk.hasCrashed { history.low = chunk.sequences.upperBound + 1 }
        histories[pair] = history
        return true
    }

    private func housekeep() throws {
        note("housekeep")
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            guard let next = queue.housekeep(at: now, age: 0), !disk.hasCrashed else { return }
            now = max(now + .milliseconds(300), min(next, now + .seconds(2)))
        }
    }

    func synchroniseCursors() {
        do {
            try queue.synchroniseCursors()
        } catch {
            return
        }
        guard !disk.hasCrashed else { return }
        for (pair, history) in histories { histories[pair]?.durableLow = history.low }
    }

    private func arm() {
        disk.errno = chance(50) ? .io : .noSpace
        if chance(60) {
            disk.failingSyncs = Int.random(in: 1...3, using: &random)
        } else {
            disk.failingWrites = Int.random(in: 1...2, using: &random)
        }
        owing = Set(Self.logs)
        note("fail \(disk.failingSyncs) syncs, \(disk.failingWrites) writes")
    }

    /// Turns over bits of one byte of a segment, at most one byte a segment.
    private func flip() {
        let paths = disk.files.filter { $0.hasSuffix(".segment") && !flipped.contains($0) && disk.isClean($0) }
        guard let path = paths.randomElement(using: &random) else { return }
        let contents = disk.contents(of: path)
        let used = (contents.lastIndex { $0 != 0 } ?? 0) + 1
        let offset = Int.random(in: 0..<used, using: &random)
        disk.flip(path, at: offset, mask: UInt8(1) << UInt8.random(in: 0...7, using: &random))
        flipped.insert(path)
        note("flip \(path) at \(offset)")
    }

    func restart(after end: SimulatedDisk.End) throws {
        note("\(end)")
        crashes += 1
        held = nil
        disk.restart(after: end)
        owing = []
        if faults.crashesInCalls, chance(20) {
            disk.crashStep = disk.steps + Int.random(in: 0..<6, using: &random)
            do {
                try open()
            } catch {
                guard disk.hasCrashed else { throw error }
            }
            guard disk.hasCrashed else {
                disk.crashStep = nil
                return try check(after: end)
            }
            note("  crash at start")
            mayMissNames = true
            held = nil
            disk.restart(after: end)
        }
        try open()
        try check(after: end)
    }

    func note(_ text: String) { trace.append(text) }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
}

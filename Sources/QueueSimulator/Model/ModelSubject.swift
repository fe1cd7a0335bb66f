internal import Bytes
internal import Queue

/// The model on its own disk, as `QueueScenario` drives it.
final class ModelSubject: QueueUnderTest {
    let consent: UInt8? = 0
    static let traits = QueueTraits(
        mostResent: ModelQueue.window + 2 * 8, namesDamage: false, trustsStarts: false,
        keepsConsent: false)

    private let disk: ModelDisk
    private let variant: Variant?
    private var random: SplitMix64
    private var held: ModelQueue?
    private(set) var hasCrashed = false
    private var injuries: [Injury] = []

    init(seed: UInt64, plan: FaultPlan) {
        disk = ModelDisk(seed: seed)
        random = SplitMix64(seed: seed ^ 0xF417)
        variant = plan.variant
    }

    private var queue: ModelQueue {
        guard let held else { preconditionFailure("the queue is not open") }
        return held
    }

    /// Runs a call; nil where it failed, or the process ended in it.
    private func attempt<Value>(_ body: () throws(DiskError) -> Value) -> Value? {
        guard !hasCrashed else { return nil }
        do throws(DiskError) {
            return try body()
        } catch {
            hasCrashed = error == .crash
            return nil
        }
    }

    func start(seed: UInt64, destinations: [Int], crashingAfter steps: Int?) -> String? {
        if let steps { disk.crashStep = disk.steps + steps }
        let started = attempt { () throws(DiskError) in
            try ModelQueue(disk: disk, variant: variant, epoch: seed, destinations: destinations)
        }
        if let started {
            held = started
            disk.crashStep = nil
        }
        return started == nil && !hasCrashed ? "a call of the disk failed" : nil
    }

    func end(_ end: ProcessEnd) {
        disk.heal()
        if end == .powerCut { disk.loseUnsynced() } else { disk.keepUnsynced() }
        hasCrashed = false
    }

    func crash(afterSteps steps: Int) { disk.crashStep = disk.steps + steps }

    func close() -> Bool { synchroniseCursors() }

    func commit(_ batches: [(log: Int, posts: [Post])], at now: Int) -> [Int: Accepted] {
        let firsts = attempt { () throws(DiskError) in
            try queue.commit(batches.map { ($0.log, $0.posts.map { ($0.token, $0.deadline) }) })
        }
        return (firsts ?? [:]).reduce(into: [:]) {
            $0[$1.key] = Accepted(first: $1.value, epoch: queue.logs[$1.key].epoch)
        }
    }

    func read(_ destination: Int, _ log: Int, events: Int, at now: Int) -> [ReadItem] {
        attempt { () throws(DiskError) in try queue.read(destination, log, events: events, now: now) } ?? []
    }

    func readAll(_ destination: Int, _ log: Int) -> [ReadItem]? {
        let low = queue.cursors[destination, log].slot.low
        return queue.items(destination, log, low..<max(low, queue.logs[log].next), now: nil)
    }

    func settle(_ destination: Int, _ log: Int, _ fates: [(sequence: Int, fate: Fate)]) {
        _ = attempt { () throws(DiskError) in try queue.settle(destination, log, fates) }
        queue.settled = []
    }

    func bury(_ destination: Int, _ log: Int, _ item: SentItem) -> Bool {
        defer { queue.settled = [] }
        return attempt { () throws(DiskError) in
            try queue.bury(destination, log, sequence: item.sequence, epoch: item.epoch)
            return true
        } ?? false
    }

    func purge(_ sequences: ClosedRange<Int>, of log: Int, epochs: [UInt64]) -> Bool {
        attempt { () throws(DiskError) in
            try queue.purge(Set(sequences), in: log)
            return true
        } ?? false
    }

    func purge(_ log: Int) -> Bool {
        attempt { () throws(DiskError) in
            try queue.purge(log)
            return true
        } ?? false
    }

    func keep(consent state: UInt8) -> Bool { false }

    func squeeze(_ log: Int) -> Set<Int> {
        _ = attempt { () throws(DiskError) in try queue.evict(log) }
        return [log]
    }

    func relieve() {}

    func use(_ destinations: [Int]) { _ = attempt { () throws(DiskError) in try queue.use(destinations) } }

    func synchroniseCursors() -> Bool {
        attempt { () throws(DiskError) in
            try queue.synchroniseCursors()
            return true
        } ?? false
    }

    func housekeep(slices: Int, at now: Int) { _ = attempt { () throws(DiskError) in try queue.retire() } }

    func accepted(_ log: Int) -> Int { queue.logs[log].next - 1 }

    func oldest(_ log: Int) -> Int { queue.oldest(log) }

    func cursor(_ destination: Int, _ log: Int) -> CursorView? {
        guard queue.known.contains(destination) else { return nil }
        let slot = queue.cursors[destination, log].slot
        return CursorView(
            low: slot.low, origin: slot.origin, ledger: slot.ledger, queued: queue.queued(log, from: slot.low))
    }

    func letters(_ destination: Int, _ log: Int) -> Set<Int> {
        Set(queue.letterCells.filter { $0.destination == destination && $0.log == log }.map(\.sequence))
    }

    func takeMoves() -> [Move] {
        defer { queue.settled = [] }
        return queue.settled.map {
            Move(destination: $0.destination, log: $0.log, fate: $0.fate, count: 1, low: $0.sequence + 1)
        }
    }

    func takeNamed() -> [(log: Int, sequences: ClosedRange<Int>)] { [] }

    func known() -> [(log: Int, sequence: Int, token: Int, epoch: UInt64)] {
        (0..<QueueShape.logs).flatMap { log -> [(log: Int, sequence: Int, token: Int, epoch: UInt64)] in
            guard let newest = queue.logs[log].segments.last, newest.first <= newest.last else { return [] }
            return (newest.first...newest.last).compactMap { sequence in
                let (event, epoch) = queue.event(log, sequence)
                guard case .record(let record) = event else { return nil }
                return (log, sequence, record.token, epoch)
            }
        }
    }

    func inject(_ fault: InjectedFault) -> Bool {
        switch fault {
        case .failingSyncs: disk.failingSyncs = Int.random(in: 1...4, using: &random)
        case .failingWrites: disk.failingWrites = 1
        case .flippedByte: return damageRecords()
        case .damagedCursors: return damageSlots()
        case .failingReads, .fullDisk, .unreadableSector, .lostWrite, .misdirectedWrite: return false
        }
        return true
    }

    private func isClean(_ file: Int) -> Bool {
        disk.files[file].map { $0.pending.isEmpty && $0.limbo.isEmpty && $0.reverted.isEmpty } ?? false
    }

    /// Spoils one cell or a few in a row; never the end of the newest segment, whose loss nothing could tell.
    private func damageRecords() -> Bool {
        let log = Int.random(in: 0..<QueueShape.logs, using: &random)
        guard let segment = queue.logs[log].segments.randomElement(using: &random), isClean(segment.file) else {
            return false
        }
        let cells = disk.cells(segment.file)
        let isNewest = segment.id == queue.logs[log].segments.last?.id
        let lastTrailer = cells.lastIndex { cell in
            if case .trailer = cell { true } else { false }
        }
        let end = isNewest ? lastTrailer ?? 0 : cells.count
        guard end > 0 else { return false }
        let start = Int.random(in: 0..<end, using: &random)
        let length = Int.random(in: 0..<10, using: &random) < 6 ? 1 : Int.random(in: 2...5, using: &random)
        for position in start..<min(end, start + length) {
            switch cells[position] {
            case .record(let record):
                injuries.append(Injury(log: log, range: record.sequence...record.sequence, most: 1))
            case .hole(let sequence, _): injuries.append(Injury(log: log, range: sequence...sequence, most: 1))
            default: break
            }
            disk.damage(segment.file, at: position, length: Int.random(in: 0..<12, using: &random))
        }
        if queue.contents(of: segment).epoch == nil, segment.first <= segment.last {
            let all = segment.first...segment.last
            injuries.append(Injury(log: log, range: all, most: all.count))
        }
        return true
    }

    private func damageSlots() -> Bool {
        guard let file = queue.cursors.file, isClean(file), !queue.cursors.isSuspect else { return false }
        let destination = Int.random(in: 0..<QueueShape.destinations, using: &random)
        let log = Int.random(in: 0..<QueueShape.logs, using: &random)
        let sides = [0...0, 1...1, 0...1][Int.random(in: 0..<3, using: &random)]
        for side in sides {
            let position = ModelCursors.position(destination, log, side: side)
            guard position < disk.cells(file).count else { continue }
            disk.damage(file, at: position, length: 0)
        }
        return true
    }

    func takeInjuries() -> [Injury] {
        defer { injuries = [] }
        return injuries
    }

    func leftovers() -> String? {
        queue.logs.allSatisfy { $0.segments.count <= 1 } ? nil : "a segment stays for ever"
    }
}

extension ModelQueue {
    /// The dead letters as a reader finds them on disk.
    var letterCells: Set<Letter> {
        var letters = Set<Letter>()
        for (name, file) in disk.listing {
            guard case .letters = name else { continue }
            for case .letter(let letter) in disk.cells(file) { letters.insert(letter) }
        }
        return letters
    }
}

internal import Bytes

/// A seeded life of a queue: clients, collectors, operators, faults and ends; throws `Truth.Violation`.
struct Scenario {
    enum Operation: CaseIterable {
        case commit, send, acknowledge, loseAnswer, loseRequest, lateAnswer, refuse, synchronise, purge, evict, retire
        case damageRecords, damageSlots, fail, wait, repeatPost, stop, kill, powerCut

        /// How often it comes, relative to the others.
        var weight: Int {
            switch self {
            case .send, .acknowledge: 24
            case .commit: 22
            case .retire, .purge: 6
            case .synchronise, .refuse, .lateAnswer: 4
            case .loseAnswer, .loseRequest, .evict, .damageRecords, .fail, .wait: 3
            case .repeatPost: 2
            case .damageSlots, .stop, .kill, .powerCut: 1
            }
        }

        static let wheel = allCases.flatMap { [Operation](repeating: $0, count: $0.weight) }
    }

    let variant: Variant?
    let disk: ModelDisk
    var queue: ModelQueue
    var truth = Truth()
    /// What is done.
    var random: SplitMix64
    /// How it ends, apart so that the same things are done whatever the crash.
    var crashRandom: SplitMix64
    var now = 0
    var nextToken = 0
    var inFlight: [Request] = []
    /// Requests given up whose answer may still come.
    var late: [Request] = []
    /// Posts without an answer, which clients may repeat.
    var unanswered: [Int] = []
    var crashes = 0
    /// What was done, where it is wanted.
    let trace: Trace?

    init(seed: UInt64, variant: Variant? = nil, trace: Trace? = nil) throws(DiskError) {
        self.variant = variant
        self.trace = trace
        random = SplitMix64(seed: seed)
        crashRandom = SplitMix64(seed: seed ^ 0xC7A5)
        disk = ModelDisk(seed: seed ^ 0xD15C)
        queue = try ModelQueue(disk: disk, variant: variant, epoch: random.next())
    }

    /// A random life with crashes at random steps.
    mutating func run(operations: Int) throws {
        for _ in 0..<operations {
            if chance(6) { disk.crashStep = disk.steps + Int.random(in: 0..<14, using: &random) }
            try perform(Operation.wheel[Int.random(in: 0..<Operation.wheel.count, using: &random)])
        }
        try finish()
    }

    /// A short life that crashes after the given number of steps; returns false where it never came that far.
    mutating func run(operations: Int, crashStep: Int) throws -> Bool {
        disk.crashStep = disk.steps + crashStep
        for _ in 0..<operations {
            let operation = Operation.wheel[Int.random(in: 0..<Operation.wheel.count, using: &random)]
            switch operation {
            case .stop, .kill, .powerCut, .damageSlots: continue
            default: try perform(operation)
            }
            if crashes > 0 { break }
        }
        let hasCrashed = crashes > 0
        try finish()
        return hasCrashed
    }

    mutating func perform(_ operation: Operation) throws {
        note("\(operation)")
        do {
            try act(operation)
        } catch DiskError.crash {
            crashes += 1
            try restart(after: Bool.random(using: &crashRandom) ? .kill : .powerCut)
            return
        } catch DiskError.failed {
            note("  failed")
        }
        try truth.settle(queue, now: now)
        try truth.check(queue)
    }

    /// The next start; it may die in turn.
    mutating func restart(after end: Truth.End) throws {
        note("  \(end)")
        try truth.settle(queue, now: now)
        inFlight = []
        late = []
        var worst = end
        while true {
            disk.heal()
            if worst == .powerCut { disk.loseUnsynced() } else { disk.keepUnsynced() }
            if crashRandom.next() % 4 == 0 { disk.crashStep = disk.steps + Int(crashRandom.next() % 8) }
            do {
                queue = try ModelQueue(disk: disk, variant: variant, epoch: crashRandom.next())
                disk.crashStep = nil
                break
            } catch {
                note("  crash at start")
                worst = Bool.random(using: &crashRandom) ? .powerCut : worst
            }
        }
        note("  next \(queue.logs.map(\.next)), low \(queue.cursors.cursors.map(\.slot.low))")
        try truth.restart(queue, after: worst)
    }

    /// Everything calms down: what waits is delivered, and nothing is missing.
    mutating func finish() throws {
        note("finish")
        try restart(after: .powerCut)
        for _ in 0..<2 {
            for destination in 0..<ModelQueue.destinations {
                for log in 0..<ModelQueue.logs { try drain(destination, log) }
            }
            try queue.retire()
            try truth.check(queue)
            try truth.require(queue.logs.allSatisfy { $0.segments.count <= 1 }, "a segment stays for ever")
            try restart(after: .powerCut)
        }
    }

    private mutating func drain(_ destination: Int, _ log: Int) throws {
        for _ in 0..<1_000 where queue.cursors[destination, log].slot.low < queue.logs[log].next {
            if let request = try queue.formRequest(destination, log, now: now) {
                try truth.send(request, by: queue)
                truth.take(request)
                try queue.acknowledge(request)
            }
            try truth.settle(queue, now: now)
        }
        try truth.require(
            queue.cursors[destination, log].slot.low == queue.logs[log].next, "log \(log) does not drain")
    }

    func note(_ text: @autoclosure () -> String) {
        if let trace { trace.lines.append(text()) }
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
}

/// The end of what a failing seed did.
final class Trace {
    var lines: [String] = []

    var text: String { lines.suffix(80).joined(separator: "\n") }
}

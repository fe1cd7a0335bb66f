internal import Bytes
internal import Queue

/// A seeded life of a queue: clients, collectors, operators, faults and ends; throws `Truth.Violation`.
final class QueueScenario<Subject: QueueUnderTest> {
    /// Crashes that every life has at least.
    static var leastCrashes: Int { 5 }

    let queue: Subject
    let plan: FaultPlan
    var truth: Truth
    /// What is done.
    var random: SplitMix64
    /// How it ends, apart so that the same things are done whatever the crash.
    var crashRandom: SplitMix64
    /// When consent changes and to what, apart so that all else stays as it is.
    var consentRandom: SplitMix64
    var now = 1
    var nextToken = 0
    var inFlight: [Request] = []
    /// Requests given up whose answer may still come.
    var late: [Request] = []
    /// Posts without an answer, which clients may repeat.
    var unanswered: Set<Int> = []
    var used = [0, 1]
    var tally = QueueTally()
    /// In some lives collectors come to the end of a log now and then; in the others more is at stake.
    let wheel: [Operation]
    /// What was done, where it is wanted.
    private let trace: ((String) -> Void)?

    /// A run of events cut for one destination.
    struct Request {
        let destination: Int
        let log: Int
        let items: [ReadItem]

        var pair: Truth.Pair { Truth.Pair(destination: destination, log: log) }

        var sent: [SentItem] {
            items.compactMap { item in
                guard case .event(let token, let epoch) = item.content else { return nil }
                return SentItem(sequence: item.sequence, token: token, epoch: epoch)
            }
        }

        /// What becomes of its events once the collector has taken them.
        var fates: [(sequence: Int, fate: Fate)] {
            items.map { item in
                if case .disposed(let fate) = item.content {
                    (item.sequence, fate)
                } else {
                    (item.sequence, .delivered)
                }
            }
        }
    }

    init(seed: UInt64, plan: FaultPlan, trace: ((String) -> Void)? = nil) {
        self.plan = plan
        self.trace = trace
        wheel = seed % 3 == 2 ? Operation.wheel : Operation.wheelWithoutCatchingUp
        random = SplitMix64(seed: seed)
        crashRandom = SplitMix64(seed: seed ^ 0xC7A5)
        consentRandom = SplitMix64(seed: seed ^ 0xC05E)
        queue = Subject(seed: seed ^ 0xD15C, plan: plan)
        truth = Truth(traits: Subject.traits, logs: QueueShape.logs)
        startFailure = queue.start(seed: random.next(), destinations: used, crashingAfter: nil)
    }

    /// A random life with crashes at random steps.
    func run(operations: Int) throws(Truth.Violation) {
        for number in 0..<operations {
            let due = tally.crashes * operations / (Self.leastCrashes + 1) + operations / (2 * Self.leastCrashes)
            if plan.crashesInCalls, chance(number > due ? 12 : 1) {
                queue.crash(afterSteps: Int.random(in: 0..<14, using: &random))
            }
            try perform(wheel[Int.random(in: 0..<wheel.count, using: &random)])
            if Subject.traits.keepsConsent, consentRandom.next() % 20 == 0 { try perform(.consent) }
        }
        while tally.crashes < Self.leastCrashes { try perform(chance(50) ? .powerCut : .commit) }
        try finish()
    }

    /// A short life that crashes after the given number of steps; returns false where it never came that far.
    func run(operations: Int, crashStep: Int) throws(Truth.Violation) -> Bool {
        queue.crash(afterSteps: crashStep)
        for _ in 0..<operations where tally.crashes == 0 {
            let operation = wheel[Int.random(in: 0..<wheel.count, using: &random)]
            switch operation {
            case .stop, .kill, .powerCut: continue
            default: try perform(operation)
            }
        }
        let hasCrashed = tally.crashes > 0
        try finish()
        return hasCrashed
    }

    func perform(_ operation: Operation) throws(Truth.Violation) {
        note("\(operation)")
        tally.operations += 1
        truth.evictable = []
        try act(operation)
        try look()
        guard queue.hasCrashed else { return try truth.check(queue) }
        note("  crash")
        try restart(after: Bool.random(using: &crashRandom) ? .kill : .powerCut)
    }

    /// Takes what the queue has to tell.
    func look() throws(Truth.Violation) {
        for injury in queue.takeInjuries() {
            note("  may cost \(injury)")
            truth.injuries.append(injury)
        }
        for (log, range) in queue.takeNamed() { truth.named[log].append(range) }
        for move in queue.takeMoves() {
            note("  \(move)")
            try truth.follow(move, queue, now: now)
        }
        if !queue.hasCrashed { try truth.adopt(queue) }
    }

    /// The next start; it may die in turn.
    func restart(after end: ProcessEnd) throws(Truth.Violation) {
        inFlight = []
        late = []
        truth.mayMissNames = true
        var worst = end
        while true {
            tally.crashes += 1
            note("  \(worst)")
            queue.end(worst)
            let steps = crashRandom.next() % 4 == 0 ? Int(crashRandom.next() % 10) : nil
            startFailure = queue.start(seed: crashRandom.next(), destinations: used, crashingAfter: steps)
            guard queue.hasCrashed else { break }
            note("  crash at start")
            worst = worst == .powerCut || Bool.random(using: &crashRandom) ? .powerCut : .kill
        }
        try truth.require(startFailure == nil, .lost, "the queue cannot be opened: \(startFailure ?? "")")
        for injury in queue.takeInjuries() { truth.injuries.append(injury) }
        note("  accepted \((0..<QueueShape.logs).map { queue.accepted($0) }), \(cursors)")
        for (log, range) in queue.takeNamed() { truth.named[log].append(range) }
        try truth.restart(queue, after: worst, now: now)
        repeatPosts()
        try takeUpConsent()
    }

    private var cursors: String {
        truth.pairs.map { pair in
            let cursor = queue.cursor(pair.destination, pair.log)
            return "\(pair.destination)/\(pair.log): \(cursor.map { "\($0)" } ?? "none")"
        }
        .joined(separator: ", ")
    }

    /// Clients without an answer ask again: what the log holds already is acknowledged at once.
    private func repeatPosts() {
        guard Subject.traits.trustsStarts || !truth.hasFailed else { return }
        for known in queue.known() where unanswered.remove(known.token) != nil {
            note("  log \(known.log) has \(known.token): \(known.sequence)")
            truth.acknowledged[known.log][known.sequence] = Truth.Posted(token: known.token, epoch: known.epoch)
        }
    }

    /// Everything calms down: what waits is delivered, and nothing is missing.
    func finish() throws(Truth.Violation) {
        note("finish")
        try restart(after: .powerCut)
        for round in 0..<2 {
            if round == 1 {
                try commit(to: Array(0..<QueueShape.logs))
                try look()
                try truth.require(!lastCommitFailed, "not all is accepted though all is well and nothing waits")
            }
            for pair in truth.pairs { try drain(pair) }
            queue.housekeep(slices: 500, at: now)
            try look()
            try truth.check(queue)
            // Damage at the end may keep them until the next commit.
            let leftovers = round == 1 ? queue.leftovers() : nil
            try truth.require(leftovers == nil, "\(leftovers ?? "")")
            try restart(after: .powerCut)
        }
        tally.count(truth)
    }

    /// Why the newest start came to nothing.
    private var startFailure: String?

    /// Whether the newest commit took less than it was given.
    var lastCommitFailed = false

    private func drain(_ pair: Truth.Pair) throws(Truth.Violation) {
        while try deliver(pair, events: 8) {}
        try truth.require(queue.cursor(pair.destination, pair.log)?.queued == 0, "\(pair) does not drain")
    }

    func note(_ text: @autoclosure () -> String) { trace?(text()) }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
}

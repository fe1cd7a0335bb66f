internal import Bytes
internal import Daemon
internal import Delivery
internal import Posix
internal import Queue
internal import QueueSimulator
internal import Reachability
internal import Time

/// A seeded life of the daemon's machines in virtual time: clients, links, name server, two collectors, disk, crashes.
///
/// The coordinator, the queue and all machines in them are the real ones; what they do is held against `Promise`.
package final class Simulation {
    /// What the promise is broken by.
    package struct Broken: Error, CustomStringConvertible {
        package let description: String
    }

    /// What happened, over one or many seeds.
    package struct Tally: Sendable {
        package var seeds = 0
        package var steps = 0
        package var posts = 0
        package var acknowledged = 0
        package var requests = 0
        package var crashes = 0
        /// Events that came to a collector again.
        package var repeats = 0
        package var virtualTime = Duration.zero
        package var consentCases: [ConsentCase: Int] = [:]

        package init() {}

        package static func += (left: inout Tally, right: Tally) {
            left.seeds += right.seeds
            left.steps += right.steps
            left.posts += right.posts
            left.acknowledged += right.acknowledged
            left.requests += right.requests
            left.crashes += right.crashes
            left.repeats += right.repeats
            left.virtualTime += right.virtualTime
            left.consentCases.merge(right.consentCases) { $0 + $1 }
        }
    }

    /// In which everything must be delivered once nothing is wrong any more: holds are tried again after 15 minutes.
    private static let drainLimit = Duration.seconds(3_600)
    /// The most times that the daemon's timer may run at one instant.
    private static let timersAtOnce = 20

    private enum Step {
        case world((Simulation) -> Void)
        case process(life: Int, (SimulatedProcess) -> Void)
    }

    let settings: SimulationSettings
    let disk: SimulatedDisk
    let promise: Promise
    var random: SplitMix64
    private(set) var now = Instant(nanoseconds: 1_000_000_000_000)
    var network = SimulatedNetwork()
    var collectors: [String: SimulatedCollector]
    private(set) var process: SimulatedProcess?
    private(set) var lives = 0
    var asleepUntil = Instant(nanoseconds: 0)
    /// The disk's thread hangs until then.
    var diskHangsUntil = Instant(nanoseconds: 0)
    /// Since when there is no way; in the far future while there is one.
    private(set) var pathLostAt = Instant.distantFuture
    private(set) var isHealed = false
    var events = 0
    package private(set) var tally = Tally()

    private var agenda = Agenda<Step>()
    private var timersNow = 0

    /// The same seed gives the same life, `tracing` or not.
    ///
    /// `ignoringSyncs`, the disk lies: for the run that shows that a loss is seen.
    package init(seed: UInt64, tracing: Bool = false, ignoringSyncs: Bool = false) {
        random = SplitMix64(seed: seed)
        settings = SimulationSettings(&random)
        disk = SimulatedDisk(seed: seed ^ 0xD15C, physicalBlock: 512)
        let names = settings.destinations.map(\.name)
        collectors = Dictionary(uniqueKeysWithValues: names.map { ($0, SimulatedCollector()) })
        promise = Promise(settings, tracing: tracing)
        promise.simulation = self
        disk.ignoresSyncs = ignoringSyncs
        var slowness = SplitMix64(seed: seed ^ 0x1A7E)
        if slowness.next() % 4 == 0 { disk.latency = .zero ... .milliseconds(Int64(slowness.next() % 400)) }
    }

    /// The last things that happened; empty without tracing.
    package var trace: ArraySlice<String> { promise.trace.suffix(160) }

    var wall: WallTime { WallTime(milliseconds: 1_700_000_000_000 + now.nanoseconds / 1_000_000) }

    /// Lives through a time with faults, then through one without, and looks at what is left.
    package func run() throws {
        start()
        beginStimuli()
        let end = now + settings.length
        while now < end { try step(before: end) }
        heal()
        let limit = now + Self.drainLimit
        while !(process?.isDrained ?? false) {
            guard now < limit else { throw Broken(description: "not drained in an hour: \(promise.situation)") }
            try step(before: limit)
        }
        let rest = max(now, asleepUntil) + .seconds(5)
        while now < rest { try step(before: rest) }
        crash(.powerCut)
        let last = now + .seconds(120)
        while process == nil { try step(before: last) }
        promise.isOver()
        try check()
        tally.seeds = 1
        tally.acknowledged = promise.acknowledgedCount
        tally.repeats = collectors.values.reduce(0) { $0 + $1.repeats }
        tally.posts = events
        tally.consentCases = promise.consentCases
        tally.virtualTime = now - Instant(nanoseconds: 1_000_000_000_000)
    }

    private func check() throws {
        if let broken = promise.broken { throw Broken(description: broken) }
    }

    private func step(before end: Instant) throws {
        var timer = process?.deadline ?? .distantFuture
        if asleepUntil > now { timer = max(timer, asleepUntil) }
        let due = min(max(timer, now), agenda.next ?? .distantFuture)
        guard due < end else {
            now = end
            return
        }
        if due > now { timersNow = 0 }
        now = due
        tally.steps += 1
        if let next = agenda.next, next <= due, timer > due || chance(50) {
            if let item = agenda.take() { run(item) }
        } else {
            timersNow += 1
            promise.require(timersNow <= Self.timersAtOnce, "the timer runs without end: \(promise.situation)")
            process?.timer()
        }
        process?.proceedStopping()
        try check()
    }

    private func run(_ item: Step) {
        switch item {
        case .world(let body): body(self)
        case .process(let life, let body):
            guard let process, process.life == life else { return }
            guard now >= asleepUntil else { return agenda.add(item, at: asleepUntil) }
            body(process)
            if self.process === process { process.endTurn() }
        }
    }

    /// Has the world do something after `span`.
    func plan(after span: Duration, _ body: @escaping (Simulation) -> Void) {
        agenda.add(.world(body), at: now + span)
    }

    /// Has a life of the daemon do something after `span`, if it still lives then.
    func plan(_ life: Int, after span: Duration, _ body: @escaping (SimulatedProcess) -> Void) {
        agenda.add(.process(life: life, body), at: now + span)
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    func span(_ range: ClosedRange<Duration>) -> Duration {
        let bounds = range.lowerBound.nanoseconds...range.upperBound.nanoseconds
        return .nanoseconds(Int64.random(in: bounds, using: &random))
    }

    func diskDelay() -> Duration {
        let delay = span(.microseconds(50)...(.milliseconds(5)))
        return diskHangsUntil > now ? diskHangsUntil - now + delay : delay
    }

    /// The disk's thread is busy for as long as its calls have taken.
    func spendDiskTime() {
        let spent = disk.takeElapsed()
        guard spent > .zero else { return }
        diskHangsUntil = max(diskHangsUntil, now + spent)
        promise.diskIsWrong(until: diskHangsUntil)
    }

    private func heal() {
        isHealed = true
        promise.note("healed")
        network.heal()
        for name in collectors.keys { collectors[name]?.mood = .good }
        disk.failingSyncs = 0
        disk.failingWrites = 0
        disk.crashStep = nil
        disk.capacity = 1 << 40
        disk.latency = nil
        diskHangsUntil = now
        networkChanged()
        repeating(every: .seconds(10), afterHealing: true) { $0.changeConsent() }
    }

    func networkChanged() {
        if network.active != nil { pathLostAt = .distantFuture } else { pathLostAt = min(pathLostAt, now) }
        guard let process else { return }
        plan(process.life, after: span(.zero ... .milliseconds(20))) { $0.tell(.networkChanged(by: "kernel")) }
    }

    func countRequest() { tally.requests += 1 }
}

extension Simulation {
    private func start() {
        lives += 1
        if !isHealed, chance(15) { disk.crashStep = disk.steps + Int.random(in: 0..<8, using: &random) }
        var bits = SplitMix64(seed: random.next())
        do throws(QueueError) {
            let queue = try Queue.open(
                disk, options: settings.queue, destinations: settings.destinations.map(\.name), at: wall,
                randomBits: { bits.next() }, clock: { Instant(nanoseconds: 0) })
            if disk.hasCrashed { return startAgain() }
            promise.opened(queue, at: now)
            process = SimulatedProcess(self, life: lives, queue: queue)
        } catch {
            promise.require(disk.hasCrashed, "the queue cannot be opened: \(error)")
            startAgain()
        }
    }

    private func startAgain() {
        let end: SimulatedDisk.End = chance(50) ? .kill : .powerCut
        promise.diedAtStart(end)
        disk.restart(after: end)
        plan(after: .seconds(1)) { $0.start() }
    }

    /// The daemon ends at once, with all that it had in mind.
    func crash(_ end: SimulatedDisk.End) {
        guard process != nil else { return }
        tally.crashes += 1
        promise.crashed(end, at: now)
        process = nil
        asleepUntil = now
        disk.restart(after: end)
        plan(after: span(.milliseconds(100)...(.seconds(20)))) { $0.start() }
    }

    /// The daemon has stopped in good order.
    func leave() {
        guard process != nil, !disk.hasCrashed else { return }
        crash(chance(50) ? .kill : .powerCut)
    }

    /// True where the daemon's life has ended in a call of the disk.
    func endsByDisk() -> Bool {
        guard process != nil else { return true }
        guard disk.hasCrashed else { return false }
        crash(chance(50) ? .kill : .powerCut)
        return true
    }
}

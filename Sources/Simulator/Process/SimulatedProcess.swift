internal import Bytes
internal import Control
internal import Daemon
internal import Delivery
internal import Gates
internal import Intake
internal import Posix
internal import Queue
internal import Reachability
internal import Resolver
internal import Time

/// One life of the daemon: the real coordinator, queue and resolver's machine, with the rim played on one thread.
final class SimulatedProcess {
    unowned let world: Simulation
    /// Which life of the daemon it is, from 1.
    let life: Int
    let queue: Queue
    private(set) var coordinator: Coordinator
    private var resolver = ResolverQueue()
    private var waiting: [CoordinatorEffect] = []
    private var isPerforming = false
    /// The events that wait for an answer, by commit.
    private var posts: [UInt64: [(position: Position, event: Int)]] = [:]
    private(set) var flights: [UInt64: Flight] = [:]
    private(set) var isStopping = false

    var desk: LetterDesk
    var diskWaiting: [DiskWork] = []
    var diskReads: [DiskWork] = []
    var diskTurn: (at: Instant, serial: Int)?
    var diskTurns = 0
    var lastReply = Instant(nanoseconds: 0)
    var cursorsFail = false
    var hasLeft = false

    /// A request on its way.
    struct Flight {
        let request: OutgoingRequest
        let events: [Int]
    }

    init(_ world: Simulation, life: Int, queue: Queue) {
        self.world = world
        self.life = life
        self.queue = queue
        desk = LetterDesk(queue)
        let snapshot = queue.snapshot
        let admission = Admission(
            context: AcceptContext(connectionType: .unknown, closed: []),
            recent: RecentEvents(seed: queue.recovery.keySeed, keys: queue.recovery.keyed.map(\.key)))
        admission.consent = Consent(kept: queue.recovery.consent, used: snapshot.categories)
        var made: UInt64 = 0
        let units = world.settings.destinations.map { settings in
            made += 1
            return DestinationUnit(
                settings, world.settings.reachability, from: snapshot, among: world.settings.destinations.count,
                number: made, userAgent: "uplinkd/simulated", randomBits: { world.random.next() }, at: world.now)
        }
        let newest = Dictionary(uniqueKeysWithValues: snapshot.logs.map { ($0.name, $0.accepted) })
        coordinator = Coordinator(units: units, admission: admission, newest: newest, at: world.now)
        perform(coordinator.beginConsent(at: world.now))
        planDisk(after: .zero)
    }

    /// When it wants to be woken.
    var deadline: Instant? { [coordinator.deadline, resolver.deadline].compactMap { $0 }.min() }

    /// True where nothing is left to do.
    var isDrained: Bool {
        coordinator.isIdle && flights.isEmpty && diskWaiting.isEmpty && diskReads.isEmpty
            && coordinator.units.allSatisfy { unit in
                // Without checks nothing but an event to send can prove it reachable.
                unit.delivery.isDrained && !unit.delivery.hasLetters
                    && (unit.reachability.state == .reachable || !world.settings.reachability.checks)
            }
    }

    func timer() {
        for answer in resolver.expire(at: world.now).answers { took(answer) }
        if let due = coordinator.deadline, due <= world.now { tell(.timer) }
        endTurn()
    }

    /// A client posts an event, which may be refused.
    func post(_ event: Int, _ bytes: [UInt8], to log: LogName) {
        let admission = coordinator.admission
        let refusal = admission.refusal(for: log)
        world.promise.offered(to: log, refusal)
        guard refusal == nil else { return }
        let position = admission.append(bytes.span, to: log, acceptedAt: world.wall)
        posts[position.ordinal, default: []].append((position, event))
        world.promise.posted(event, bytes, log, coordinator, life: life)
    }

    func tell(_ event: CoordinatorEvent) {
        let effects = coordinator.handle(event, at: world.now)
        world.promise.told(event, effects, coordinator, at: world.now)
        perform(effects)
    }

    func endTurn() {
        perform(coordinator.endTurn(at: world.now))
        world.promise.turnEnded(self, at: world.now)
    }

    private func perform(_ effects: [CoordinatorEffect]) {
        waiting += effects
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        var next = 0
        while next < waiting.count {
            carryOut(waiting[next])
            next += 1
        }
        waiting.removeAll(keepingCapacity: true)
    }

    private func carryOut(_ effect: CoordinatorEffect) {
        switch effect {
        case .commit(let ordinal, let batches): postToDisk(.commit(ordinal: ordinal, batches))
        case .read(let destination, let id, let log, let from, let limit):
            postToDisk(.read(destination: destination, id: id, log, from: from, limitBytes: limit))
        case .settle(let destination, let log, let dispositions):
            postToDisk(.settle(destination: destination, log, dispositions))
        case .bury(let destination, let id, let log, let sequence, let refusal):
            postToDisk(.bury(destination: destination, id: id, log, sequence: sequence, refusal))
        case .readLetter(let destination, let id, let passage):
            postToDisk(.letter(destination: destination, id: id, passage))
        case .resolveLetter(let name): postToDisk(.resolve(name))
        case .readToken(let destination): tell(.token(destination: destination, nil, fault: nil))
        case .inquire(let destination, let addresses):
            let verdict = world.network.verdict(to: addresses)
            world.promise.heard(verdict, destination, isDefaultOnly: false)
            tell(.path(destination: destination, verdict))
        case .inquireDefault(let destination):
            let verdict = world.network.verdict(to: PathVerdict.defaultRouteAddresses)
            world.promise.heard(verdict, destination, isDefaultOnly: true)
            tell(.defaultRoute(destination: destination, verdict))
        case .resolve(let host): resolve(host)
        case .send(let request, let addresses): send(request, addresses)
        case .cancel(let request): end(request)
        case .answer(let ordinal, let outcomes):
            settle(coordinator.admission.settle(ordinal: ordinal, outcomes))
            world.promise.require(posts[ordinal] == nil, "a commit is answered with too few outcomes")
        case .refuseOpen(let log, let refusal):
            guard let settlement = coordinator.admission.refuseOpen([log: refusal]) else { return }
            world.promise.count(.refusedWhileOpen)
            settle(settlement)
        case .purge(let category): carryOut(.purge(category: category), untilDone: true)
        case .dropConnections, .notice, .change, .statusChanged, .keepConsent: break
        }
    }

    private func settle(_ settlement: Settlement) {
        let left = (posts[settlement.ordinal] ?? []).filter { position, event in
            guard let outcome = settlement.outcome(of: position) else { return true }
            if case .durable(let epoch, let first) = outcome {
                world.promise.acknowledged(event, EventID(epoch: epoch, sequence: first + UInt64(position.index)))
            }
            return false
        }
        posts[settlement.ordinal] = left.isEmpty ? nil : left
    }

    private func resolve(_ host: String) {
        let (begin, answer) = resolver.ask(host, at: world.now)
        if let answer { took(answer) }
        for host in begin { look(up: host) }
    }

    private func look(up host: String) {
        // A lookup that gets no answer ends in the system's own time.
        let result = world.network.lookup
        let span: Duration = result == nil ? .seconds(20) : world.span(.milliseconds(1)...(.milliseconds(80)))
        world.plan(life, after: span) { process in
            let finished = process.resolver.finished(
                host, result ?? .failed(LookupError(text: "timed out")), at: process.world.now)
            if let answer = finished.answer { process.took(answer) }
            for host in finished.begin { process.look(up: host) }
        }
    }

    private func took(_ answer: ResolverAnswer) {
        tell(.resolved(host: answer.host, answer.addresses, failure: answer.failure.map { $0.text }))
    }

    private func send(_ request: OutgoingRequest, _ addresses: [IPAddress]) {
        let events = world.promise.sent(request, addresses, coordinator, flights, life: life, at: world.now)
        flights[request.id] = Flight(request: request, events: events)
        world.carry(request, events, addresses, life: life)
    }

    /// What a request ended in; nothing where it was cancelled.
    func ended(_ request: UInt64, _ outcome: TransportOutcome) {
        guard let flight = flights.removeValue(forKey: request) else { return }
        world.promise.ended(flight, outcome, coordinator, at: world.now)
        tell(.answered(request: request, outcome))
    }

    private func end(_ request: UInt64) {
        guard let flight = flights.removeValue(forKey: request) else { return }
        world.promise.cancelled(flight, at: world.now)
    }

    /// The stop, as the loop's thread carries it out.
    func stop() {
        guard !isStopping else { return }
        isStopping = true
        tell(.stop)
        world.plan(life, after: .seconds(3)) { process in
            for index in process.coordinator.units.indices {
                process.perform(process.coordinator.giveUpRequests(index, at: process.world.now))
            }
        }
    }

    /// Once all is answered, the disk's thread syncs the cursors and ends.
    func proceedStopping() {
        guard isStopping, !hasLeft, coordinator.isIdle else { return }
        hasLeft = true
        postToDisk(.stop)
    }
}

internal import Bytes
internal import Configuration
internal import Control
internal import Delivery
internal import Gates
internal import HTTPTransport
internal import Intake
internal import Posix
internal import Queue
internal import Reachability
internal import Reactor
internal import Resolver
internal import SystemdService
internal import Time

/// The loop's thread: carries out what the coordinator decides, and tells it what happens.
final class LoopThread {
    /// What the loop's thread works with; made by `Startup`.
    struct Parts {
        let loop: EventLoop
        let requests: BlockingMailbox<DiskRequest>
        let replies: Mailbox<DiskReply>
        /// Where settings come that were read.
        let loads: Mailbox<LoadedSettings>
        let pulse: DiskPulse
        let log: LogThread
        let manager: ServiceManager
        let configurationPath: String
        let settings: LoadedSettings
        let limits: IntakeLimits
        let descriptors: DescriptorShares
        let snapshot: QueueSnapshot
        /// The states of consent that the start has found.
        let consent: KeptConsent
        /// The newest events that repeats are known of.
        let recent: RecentEvents
    }

    let loop: EventLoop
    let requests: BlockingMailbox<DiskRequest>
    let loads: Mailbox<LoadedSettings>
    let pulse: DiskPulse
    let log: LogThread
    let manager: ServiceManager
    let intake: IntakeServer
    let transport: CurlTransport
    let network: NetworkWatch
    let wall: SynchronisedClock
    let configurationPath: String
    /// In force until the end where a reload cannot take a setting.
    let startedWith: Configuration
    let began: Instant

    var coordinator: Coordinator
    var settings: LoadedSettings
    var snapshot: QueueSnapshot
    /// How long the oldest event of each destination has waited, as of the last question.
    var oldestAges: [String: Duration] = [:]
    var control: ControlServer?
    var reloads = ReloadQueue()
    var watchers = Watchers()
    /// Who waits for a fresh status.
    var asking: [(StatusReport) -> Void] = []
    /// Ends their waiting for the disk's thread.
    var patience: TimerToken?
    /// Tells the service manager again that the daemon serves.
    var readyTimer: TimerToken?
    var unitsMade: UInt64
    var isStopping = false
    var diskIsStopping = false
    var diskHasStopped = false
    /// Settings that were read and wait for the disk's thread to take their destinations.
    var upcoming: LoadedSettings?
    var fillLevel = FillLevel()
    var lossWatch: LossWatch
    var roomEstimate: RoomEstimate
    var lossTimer: TimerToken?
    var storageFailedSince: Instant?

    private var resolver: Resolver
    private let reports: Mailbox<Resolver.Report>
    let tokens: Mailbox<FreshToken>
    /// Orders that the disk's thread has, and who waits for them.
    var orders = OrderDesk()
    /// Probes under way, by destination.
    var probes: [String: (run: ProbeRun, done: (OperatorAnswer) -> Void)] = [:]
    /// Destinations whose token is being read.
    var tokensUnderWay: Set<String> = []
    private var sources: [AnyObject] = []
    private var waiting: [CoordinatorEffect] = []
    private var isPerforming = false
    private var timer: (deadline: Instant, token: TimerToken)?
    private var sleep: SleepDetector
    private var lastStatus = (text: "", at: Instant(nanoseconds: 0))
    private var statusIsDue = false
    /// The longest turn of the loop of those that were told of.
    private(set) var longestStall = Duration.zero

    init(_ parts: Parts) throws(Errno) {
        loop = parts.loop
        requests = parts.requests
        loads = parts.loads
        pulse = parts.pulse
        log = parts.log
        manager = parts.manager
        configurationPath = parts.configurationPath
        settings = parts.settings
        startedWith = parts.settings.configuration ?? Configuration()
        snapshot = parts.snapshot
        lossWatch = LossWatch(parts.snapshot)
        began = loop.now
        roomEstimate = RoomEstimate(at: began)
        let admission = Admission(
            context: .init(connectionType: .unknown, closed: []), recent: parts.recent)
        admission.consent = Consent(
            kept: parts.consent, settings: ConsentSettings(parts.settings), used: parts.snapshot.categories)
        let maker = UnitMaker(parts.settings, parts.snapshot, madeBefore: 0, at: loop.now)
        unitsMade = maker.made
        let newest = Dictionary(uniqueKeysWithValues: parts.snapshot.logs.map { ($0.name, $0.accepted) })
        coordinator = Coordinator(
            units: maker.units, admission: admission, newest: newest,
            commitDelay: parts.settings.configuration?.queue.commitDelay ?? .zero, at: loop.now)
        let requests = parts.requests
        let wall = SynchronisedClock(loop, log) { requests.post(.clockSet) }
        self.wall = wall
        intake = IntakeServer(
            loop: loop, admission: admission, limits: parts.limits, clock: { wall.time })
        var outcome: (UInt64, TransportOutcome) -> Void = { _, _ in }
        transport = CurlTransport(on: loop, descriptorLimit: parts.descriptors.delivery) { outcome($0, $1) }
        network = NetworkWatch(on: loop, log: parts.log, rules: LinkTypeRule.rules(of: parts.settings))
        let reports = try Mailbox<Resolver.Report>()
        self.reports = reports
        tokens = try Mailbox<FreshToken>()
        resolver = Resolver { reports.post($0) }
        sleep = SleepDetector(boot: Clock.now, monotonicNanoseconds: Clock.monotonicNanoseconds)
        outcome = { [weak self] request, result in self?.tell(.answered(request: request, result)) }
        network.changed = { [weak self] in self?.tell(.networkChanged(by: $0)) }
        applyCredentials()
        try watch(parts.replies)
        loop.endOfTurn = { [weak self] in self?.endTurn() }
        // The first turn would wait for a client or the network, whatever lies in the queue.
        setTimer()
    }

    /// Tells the coordinator and carries out what follows, in order.
    func tell(_ event: CoordinatorEvent) { perform(coordinator.handle(event, at: loop.now)) }

    func perform(_ effects: [CoordinatorEffect]) {
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

    private func watch(_ replies: Mailbox<DiskReply>) throws(Errno) {
        sources.append(
            try MailboxSource(replies, on: loop) { [weak self] messages in
                for message in messages { self?.took(message) }
            })
        sources.append(
            try MailboxSource(loads, on: loop) { [weak self] messages in
                for message in messages { self?.took(message) }
            })
        sources.append(
            try MailboxSource(reports, on: loop) { [weak self] messages in
                for message in messages { self?.took(message) }
            })
        sources.append(
            try MailboxSource(tokens, on: loop) { [weak self] messages in
                for message in messages { self?.took(message) }
            })
    }

    private func carryOut(_ effect: CoordinatorEffect) {
        switch effect {
        case .commit(let ordinal, let batches): requests.post(.commit(ordinal: ordinal, batches))
        case .read(let destination, let id, let log, let from, let limit):
            requests.post(.read(destination: destination, id: id, log, from: from, limitBytes: limit))
        case .settle(let destination, let log, let dispositions):
            requests.post(.settle(destination: destination, log, dispositions))
        case .bury(let destination, let id, let log, let sequence, let refusal):
            requests.post(.bury(destination: destination, id: id, log, sequence: sequence, refusal))
        case .readLetter(let destination, let id, let passage):
            requests.post(.letter(destination: destination, id: id, passage))
        case .resolveLetter(let name): requests.post(.resolve(name))
        case .keepConsent(let states): requests.post(.keepConsent(states))
        case .purge(let category): purge(category)
        case .refuseOpen(let log, let refusal): intake.refuseOpen([log: refusal])
        case .readToken(let destination): readToken(destination)
        case .inquire(let destination, let addresses):
            if let verdict = network.verdict(to: addresses) { tell(.path(destination: destination, verdict)) }
        case .inquireDefault(let destination):
            guard let verdict = network.verdict(to: PathVerdict.defaultRouteAddresses) else { return }
            tell(.defaultRoute(destination: destination, verdict))
        case .resolve(let host): lookUp(host)
        case .send(let request, let addresses): transport.send(request, addresses: addresses)
        case .cancel(let request): transport.cancel(request)
        case .dropConnections(let destination): transport.dropConnections(destination: destination)
        case .answer(let ordinal, let outcomes): intake.settled(ordinal: ordinal, outcomes: outcomes)
        case .notice(let notice): log.log(notice)
        case .change(let change): watchers.tell(change, at: Clock.wall)
        case .statusChanged: statusIsDue = true
        }
    }

    private func took(_ reply: DiskReply) {
        switch reply {
        case .opened, .openFailed: preconditionFailure("the queue is opened once, before the loop turns")
        case .committed(let ordinal, let outcomes, let batches):
            for case .refused(.full(_, _, let limit)) in outcomes { fillLevel.refused(at: limit, of: snapshot.limit) }
            tell(.committed(ordinal: ordinal, outcomes, batches))
        case .chunk(let destination, let id, let chunk):
            tell(.chunk(destination: destination, read: id, chunk))
        case .readFailed(let destination, let id, let error):
            report(error)
            tell(.readFailed(destination: destination, read: id))
        case .buried(let destination, let id, let outcome):
            tell(.buried(destination: destination, id: id, outcome))
        case .letter(let destination, let id, let found):
            tell(.letter(destination: destination, read: id, found))
        case .carriedOut(let number, let answer): carriedOut(number, answer)
        case .failed(let failures): for failure in failures { report(failure) }
        case .damaged(let damages): report(damages)
        case .strays(let paths): for notice in Notice.strayFiles(paths) { log.log(notice) }
        case .late(let logs): for log in logs { tell(.late(log)) }
        case .moved(let moves): tell(.moved(moves))
        case .snapshot(let snapshot): took(snapshot)
        case .answer(let snapshot, let oldest):
            oldestAges = oldest
            took(snapshot)
            answerStatus()
        case .destinations(let snapshot): destinationsTaken(snapshot)
        case .stopped: diskHasStopped = true
        }
    }

    /// Asks for the addresses of a host; the answer is for all who wait for it.
    func lookUp(_ host: String) {
        if let answer = resolver.resolve(host, at: loop.now) { took(answer) }
    }

    private func took(_ report: Resolver.Report) {
        if let answer = resolver.receive(report, at: loop.now) { took(answer) }
    }

    private func took(_ answer: ResolverAnswer) {
        tell(.resolved(host: answer.host, answer.addresses, failure: answer.failure?.text))
        for probe in Array(probes.values) { probe.run.took(answer, nameServers: resolver.nameServers) }
    }

    private func endTurn() {
        wall.look()
        if loop.longestTurn >= .seconds(1) {
            log.log(.loopStalled(loop.longestTurn))
            longestStall = max(longestStall, loop.longestTurn)
            loop.resetLongestTurn()
        }
        // Not the turn's own time: after a long turn the other clock would seem to have stood still.
        if sleep.slept(boot: Clock.now, monotonicNanoseconds: Clock.monotonicNanoseconds) { tell(.resumed) }
        perform(coordinator.endTurn(at: loop.now))
        if isStopping { proceedStopping() }
        sendStatus()
        setTimer()
    }

    /// One timer for the coordinator, the resolver and the status line, moved only when the deadline moves.
    private func setTimer() {
        var next = [coordinator.deadline, resolver.deadline].compactMap { $0 }.min()
        if statusIsDue { next = min(next ?? .distantFuture, lastStatus.at + .seconds(1)) }
        guard next != timer?.deadline else { return }
        if let timer { loop.cancel(timer.token) }
        timer = next.map { deadline in
            (deadline, loop.schedule(at: deadline) { [weak self] in self?.timerRan() })
        }
    }

    private func timerRan() {
        timer = nil
        for answer in resolver.expire(at: loop.now) { took(answer) }
        if let due = coordinator.deadline, due <= loop.now { tell(.timer) }
    }

    private func sendStatus() {
        guard statusIsDue, loop.now - lastStatus.at >= .seconds(1) else { return }
        statusIsDue = false
        let text = statusSentence()
        guard text != lastStatus.text, !isStopping else { return }
        lastStatus = (text, loop.now)
        manager.status(text)
    }
}

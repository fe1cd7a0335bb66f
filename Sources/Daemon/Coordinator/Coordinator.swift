internal import Delivery
internal import Gates
package import Intake
package import Queue
package import Reachability
internal import SystemdService
package import Time

/// The daemon's decisions in one place: admission, the way to each destination, and delivery, wired together.
///
/// Pure: it knows no clock, no descriptor and no thread. The loop's thread feeds it and carries out its effects; the
/// simulator does the same in virtual time.
package struct Coordinator {
    /// Where events wait for the next commit; the sessions append to it.
    package let admission: Admission
    /// In the order of the configuration.
    package internal(set) var units: [DestinationUnit]
    /// Since when the connection type of the first destination's route is what it is.
    package internal(set) var connectionTypeSince: Instant
    package internal(set) var connectionType = ConnectionType.unknown

    let commitDelay: Duration
    var settle = Settle()
    /// What marked things dirty since they were last looked at.
    var marks: [String] = []
    /// What the event in hand is, where that is why something changes.
    var occasion: String?
    var commitBegan: Instant?
    /// When the first event came that waits for the next commit.
    var gatheringSince: Instant?
    var isStopping = false
    var effects: [CoordinatorEffect] = []
    /// The newest durable sequence number of each log.
    var newest: [LogName: UInt64]
    /// The logs that delivery was told not to send for want of consent.
    var withheld: Set<LogName> = []

    /// A disk call older than this refuses new events.
    static let slowDiskLimit = Duration.seconds(10)

    /// A coordinator of these destinations; `newest` are the logs' newest durable sequence numbers.
    ///
    /// Events wait for `commitDelay` for others that are made durable with them.
    package init(
        units: [DestinationUnit], admission: Admission, newest: [LogName: UInt64], commitDelay: Duration = .zero,
        at now: Instant
    ) {
        self.units = units
        self.commitDelay = commitDelay
        self.admission = admission
        self.newest = newest
        connectionTypeSince = now
        updateContext(at: now)
    }

    /// When `timer` must be handled next.
    package var deadline: Instant? {
        var next = settle.due
        if let commitBegan, admission.refusal == nil { next = Self.earlier(next, commitBegan + Self.slowDiskLimit) }
        if commitBegan == nil, let gatheringSince { next = Self.earlier(next, gatheringSince + commitDelay) }
        for index in units.indices { next = Self.earlier(next, units[index].deadline) }
        return next
    }

    /// True where no request is in flight and nothing waits for the disk.
    package var isIdle: Bool { commitBegan == nil && !admission.hasEvents && units.allSatisfy(\.delivery.isIdle) }

    /// How long the commit in hand has taken; zero where there is none.
    package func commitAge(at now: Instant) -> Duration { commitBegan.map { now - $0 } ?? .zero }

    /// Takes an event and says what is to be done.
    package mutating func handle(_ event: CoordinatorEvent, at now: Instant) -> [CoordinatorEffect] {
        occasion = event.occasion
        switch event {
        case .committed(let ordinal, let outcomes, let batches): committed(ordinal, outcomes, batches, at: now)
        case .chunk(let name, let read, let chunk): feed(name, .chunk(read: read, chunk), at: now)
        case .readFailed(let name, let read): feed(name, .readFailed(read: read), at: now)
        case .late(let log):
            newest[log.name] = max(newest[log.name] ?? 0, log.last)
            found(log.name, at: now)
            for (name, low) in log.lows.sorted(by: { $0.key < $1.key }) {
                feed(name, .late(LogPosition(log: log.name, low: low, newest: log.last)), at: now)
            }
            tellOfGates()
        case .buried(let name, let id, let outcome): feed(name, .buried(id: id, outcome), at: now)
        case .letter(let name, let read, let found): feed(name, .letter(read: read, found), at: now)
        case .lettersChanged: feedAll(.lettersChanged, at: now)
        case .token(let name, let token, let fault): feed(name, .token(token, fault: fault), at: now)
        case .pause(let name, let until):
            feed(name, .pause(until: until), at: now)
            effects.append(.statusChanged)
        case .resume(let name):
            feed(name, .resume, at: now)
            feed(name, reachability: .wanted, at: now)
        case .probeAnswered(let name): feed(name, reachability: .wanted, at: now)
        case .reloaded: feedAll(.reloaded, at: now)
        case .moved(let moves):
            for move in moves { feed(move.destination, .moved(move), at: now) }
            // The last that waited for consent may have expired.
            tellOfGates()
        case .consent(let event): consent(event, at: now)
        case .cursors(let areDurable): feedAll(.storage(isDurable: areDurable), at: now)
        case .answered(let request, let outcome): answered(request, outcome, at: now)
        case .networkChanged(let cause): markDirty(by: cause, at: now)
        case .path(let name, let verdict): feed(name, reachability: .path(verdict), at: now)
        case .defaultRoute(let name, let verdict): feed(name, reachability: .defaultRoute(verdict), at: now)
        case .resolved(let host, let addresses, let failure): resolved(host, addresses, failure, at: now)
        case .resumed: for index in units.indices { feed(index, .resumed, at: now) }
        case .timer: timer(at: now)
        case .flush(let name):
            feed(name, .flush, at: now)
            feed(name, reachability: .wanted, at: now)
        case .stop: stop(at: now)
        }
        return takeEffects()
    }

    /// Puts another set of destinations in place; those kept go on as they are.
    package mutating func replaceUnits(_ replacement: [DestinationUnit], at now: Instant) -> [CoordinatorEffect] {
        occasion = "reload"
        let former = units
        units = replacement
        for index in units.indices where units[index].reachability.state == .unknown {
            let before = former.first { [name = units[index].name] in $0.name == name }
            units[index].takeOver(from: before)
            guard let before, before.delivery.status.isPaused else { continue }
            feed(index, delivery: .pause(until: before.delivery.pausedUntil), at: now)
        }
        feedAll(.withheld(withheld), at: now)
        updateContext(at: now)
        return takeEffects()
    }

    /// Gives up what a destination has in flight; its events stay queued.
    package mutating func giveUpRequests(_ index: Int, at now: Instant) -> [CoordinatorEffect] {
        feed(index, delivery: .pathLost(givingUpRequest: true), at: now)
        return takeEffects()
    }

    /// Ends delivery to a destination whose unit another is to replace; its events stay queued.
    package mutating func retire(_ index: Int, at now: Instant) -> [CoordinatorEffect] {
        occasion = "reload"
        feed(index, delivery: .replaced, at: now)
        return takeEffects()
    }

    mutating func takeEffects() -> [CoordinatorEffect] {
        occasion = nil
        let taken = effects
        effects.removeAll(keepingCapacity: true)
        return taken
    }

    private mutating func timer(at now: Instant) {
        refuseWhileDiskIsSlow(at: now)
        // Delivery's turn comes with the next timer, at once, when the kernel has told whether there is a path.
        guard !settle.take(at: now) else {
            occasion = marks.joined(separator: ", ")
            marks = []
            for index in units.indices { evaluate(index, resolving: false, at: now) }
            return
        }
        for index in units.indices {
            if let due = units[index].reachability.deadline, due <= now {
                // What made it look for a way is why.
                occasion = nil
                feed(index, .timer, at: now)
            } else if let due = units[index].delivery.deadline, due <= now {
                occasion = "timer"
                feed(index, delivery: .timer, at: now)
            }
        }
    }

    private mutating func stop(at now: Instant) {
        isStopping = true
        admission.refusal = Refusal(.stopping, detail: "the daemon is stopping", retryAfterSeconds: 5)
        feedAll(.stop, at: now)
    }

    private mutating func answered(_ request: UInt64, _ outcome: TransportOutcome, at now: Instant) {
        feedAll(.answered(request: request, outcome), at: now)
    }

    private static func earlier(_ first: Instant?, _ second: Instant?) -> Instant? {
        guard let first, let second else { return first ?? second }
        return min(first, second)
    }
}

internal import Bytes
package import Gates
package import Queue
internal import Reachability
package import Time

/// Where delivery of a log stands when the daemon starts.
package struct LogPosition: Sendable {
    package let log: LogName
    /// The first sequence number that is not settled.
    package let low: UInt64
    /// The newest durable sequence number; low - 1 where nothing waits.
    package let newest: UInt64

    package init(log: LogName, low: UInt64, newest: UInt64) {
        self.log = log
        self.low = low
        self.newest = newest
    }
}

/// Delivery to one destination: decides what is read, sent, settled and when; knows no clock and no descriptor.
///
/// Handle `timer` when `deadline` has come, and carry out effects in their order.
package struct Destination: Sendable {
    /// What is read of a log at once, in bytes.
    static let chunkBytes = 256 * 1_024
    /// How long a log rests after a read that brought nothing.
    static let readPause = Duration.seconds(1)

    package internal(set) var settings: DestinationSettings
    package internal(set) var gates = Gates()
    package internal(set) var status = DestinationStatus()
    /// When `timer` must be handled next; nil: not by itself.
    package private(set) var deadline: Instant?

    var backlogs: [Backlog]
    var places = [Place(), Place()]
    /// Batches that were cut so far.
    var turns: UInt64 = 0
    /// Batches of other logs since one of `bulk`.
    var sinceBulk = 0
    var forming: BatchForming
    /// The most events and bytes of a batch where nothing restrains it.
    let fullEvents: Int
    let fullBytes: Int
    var sizeLimit = SizeLimit()
    var compression = Compression.usual
    /// Events that were refused alone since a batch was taken.
    var refusedInRow = 0
    var requests: RequestBuilding
    let userAgent: String
    /// Dead letters that are to be sent again.
    var letters = LetterQueue()
    /// Until when an operator paused it; nil: until it is resumed.
    package internal(set) var pausedUntil: Instant?
    var pace: Pace
    let readAheadBytes: Int
    var random: SplitMix64
    var lastID: UInt64
    var connectionType = ConnectionType.unknown
    /// The kind of network there is, or was before the path was lost; nil: not known yet.
    var networkType: ConnectionType?

    /// The logs of which nothing may be sent for want of consent.
    package internal(set) var withheld: Set<LogName> = []

    var permission = Permission.none
    var checksAreOff = false
    /// No answer came, and since then no proof.
    var isFailing = false
    /// What reachability says of the connectivity gate.
    var linkIsClosed = false
    var peer: IPAddress?
    var check = Check.none
    /// The check without events in flight.
    var probe: UInt64?
    var isStopped = false

    var stage = FlushStage.first
    /// Until when what follows the first batch is spread; nil where reachability has not said, or no more.
    var spreadEnd: Instant?
    var wait: Wait?
    var backOff: BackOff
    var holds = HoldLadder()
    var run: FlushRun?
    /// What was settled while cursors cannot be made durable; nil while they can.
    var undurable: (events: UInt64, bytes: Int)?

    /// Delivery from the given positions; logs not named begin at sequence number 1.
    ///
    /// `bodyAllowanceBytes` is its share of the memory for bodies: the daemon divides 8 MiB among the destinations.
    /// `seed` must be random at each start: batch ids come from it. `userAgent` is `uplinkd/VERSION`. Reads and
    /// requests are numbered after `lastID`; the daemon keeps the numbers of its destinations apart.
    package init(
        settings: DestinationSettings, positions: [LogPosition], userAgent: String,
        bodyAllowanceBytes: Int = 8 * 1_048_576, seed: UInt64, lastID: UInt64 = 0
    ) {
        self.settings = settings
        self.lastID = lastID
        backlogs = positions.map { Backlog($0) }
        // Two places with a batch in flight and one prepared, and what was read for up to three lanes.
        let share = max(16 * 1_024, bodyAllowanceBytes / 7)
        forming = BatchForming(settings, allowanceBytes: share)
        fullEvents = forming.maximumEvents
        fullBytes = forming.maximumBytes
        readAheadBytes = min(fullBytes, share)
        self.userAgent = userAgent
        requests = RequestBuilding(settings, userAgent: userAgent)
        random = SplitMix64(seed: seed)
        pace = Pace(rate: settings.maximumEventsPerSecond)
        backOff = BackOff(minimum: settings.retryMinimum, maximum: settings.retryMaximum)
    }

    /// Goes on in the place of one of the same name: what waits keeps its marks, and what left counts for the pace.
    package mutating func takeOver(from former: Destination) {
        for index in backlogs.indices {
            guard let before = former.backlogs.first(where: { $0.log == backlogs[index].log }) else { continue }
            backlogs[index].takeMarks(of: before)
        }
        pace = Pace(rate: settings.maximumEventsPerSecond, from: former.pace.next)
        status.lastSuccess = former.status.lastSuccess
    }

    /// True where nothing is in flight.
    package var isIdle: Bool { probe == nil && places.allSatisfy(\.isFree) }

    /// True where no dead letter is to be sent again, as far as is known.
    package var hasLetters: Bool { letters.mayWait || places.contains { $0.batch?.isLetter ?? false } }

    /// True where everything that is durable is settled.
    package var isDrained: Bool { backlogs.allSatisfy(\.isEmpty) }

    /// Takes an event and says what is to be done.
    package mutating func handle(_ event: DeliveryEvent, at now: Instant) -> [DeliveryEffect] {
        var effects: [DeliveryEffect] = []
        take(event, at: now, &effects)
        // Whatever comes first once its time is over: the next deadline is not that time any more.
        endPause(at: now, &effects)
        advance(at: now, &effects)
        updateStatus()
        deadline = nextDeadline(after: now)
        return effects
    }

    private mutating func take(_ event: DeliveryEvent, at now: Instant, _ effects: inout [DeliveryEffect]) {
        switch event {
        case .available(let log, let newest): extend(log, to: newest)
        case .late(let position): replace(with: position)
        case .chunk(let id, let chunk): tookChunk(chunk, read: id, at: now)
        case .readFailed(let id): tookChunk(nil, read: id, at: now)
        case .moved(let move): moved(move, at: now, &effects)
        case .answered(let id, let outcome): answered(id, outcome, at: now, &effects)
        case .buried(let id, let outcome): buried(id, outcome, at: now, &effects)
        case .letter(let id, let found): letters.took(found, read: id, at: now)
        case .lettersChanged: lettersChanged()
        case .token(let token, let fault): tookToken(token, fault: fault, at: now)
        case .timer: break
        case .checkDue:
            learnNetwork(at: now, &effects)
            checkDue(&effects)
        case .attempt:
            learnNetwork(at: now, &effects)
            attempt(at: now)
        case .connectivity(let connectivity): connectivityChanged(connectivity, at: now, &effects)
        case .pathLost(let givingUp): pathLost(givingUpRequest: givingUp, &effects)
        case .pathBack: pathBack()
        case .reachable(let outage): becameReachable(outage, at: now, &effects)
        case .connectionType(let type):
            connectionType = type
            learnNetwork(at: now, &effects)
        case .withheld(let logs): withhold(logs, &effects)
        case .purging(let sequence): letGo(of: sequence, &effects)
        case .storage(let isDurable): storageChanged(isDurable, at: now, &effects)
        case .pause(let until):
            pausedUntil = until
            set(.paused, closed: true, at: now, &effects)
        case .resume:
            pausedUntil = nil
            set(.paused, closed: false, at: now, &effects)
            // Somebody has looked at what is refused and wants it to go on.
            refusedInRow = 0
            endWaits(at: now)
        case .flush: endWaits(at: now)
        case .reloaded: reloaded(at: now)
        case .stop: stop(&effects)
        case .replaced: replaced(&effects)
        }
    }

    private mutating func updateStatus() {
        status.isPaused = gates.isClosed(.paused)
        status.isThrottled = wait?.cause == .throttled
        status.isHeld = false
        status.reason = .none
        if permission != .none, !keptBack.isEmpty { status.reason = .consent }
        if permission != .none, settings.networkPolicy != .any, waitsForNetwork { status.reason = .policy }
        if gates.isClosed(.storage) { status.reason = .storage }
        switch wait?.cause {
        case .held(let reason):
            status.isHeld = true
            status.reason = reason
        case .throttled: status.reason = .throttled
        case .reauthorising: status.reason = .unauthorized
        case .unanswered, nil: break
        }
        if status.isPaused { status.reason = .operator }
        status.nextAttempt = permission == .none || blockingGate != nil ? nil : restrainedUntil
    }

    /// The end of the present wait or spread; nil where there is none.
    private var restrainedUntil: Instant? {
        let spread: Instant? = if case .spread(let until) = stage { until } else { nil }
        return [wait?.until, spread].compactMap { $0 }.max()
    }

    private func nextDeadline(after now: Instant) -> Instant? {
        guard !isStopped else { return nil }
        let restraint = permission == .none ? nil : restrainedUntil
        // A wait ends by its time where nothing is left to be sent, with or without a path.
        let idle = hasBacklog ? nil : wait?.until
        var times = [restraint, idle, pausedUntil]
        if permission != .none || check == .wanted {
            times += backlogs.map(\.readableFrom) + [letters.readableFrom, pace.next]
        }
        return times.compactMap { $0 }.filter { $0 > now }.min()
    }
}

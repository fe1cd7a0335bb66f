internal import Gates
internal import Queue
internal import Reachability
internal import Time

extension Destination {
    /// The most that is settled while cursors cannot be made durable.
    private static let undurableEvents: UInt64 = 10_000
    private static let undurableBytes = 64 * 1_048_576

    /// Closes or opens a gate; what waits is marked and formed anew.
    mutating func set(_ gate: Gate, closed: Bool, at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard gates.set(gate, closed: closed, at: now) else { return }
        markAll(gate)
        reform()
        effects.append(.gatesChanged)
    }

    mutating func markAll(_ gate: Gate) {
        for index in backlogs.indices { backlogs[index].mark(gate) }
    }

    mutating func updateConnectivityGate(at now: Instant, _ effects: inout [DeliveryEffect]) {
        set(.connectivity, closed: linkIsClosed || isFailing, at: now, &effects)
    }

    mutating func connectivityChanged(
        _ connectivity: Connectivity, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        guard connectivity != .unknown else { return }
        linkIsClosed = connectivity == .closed
        updateConnectivityGate(at: now, &effects)
    }

    mutating func attempt(at now: Instant) {
        checksAreOff = true
        guard permission == .none else { return }
        permission = .unproved
        if wait?.cause == .unanswered { wait = nil }
        backOff.reset()
        tryHoldAgain(at: now)
    }

    mutating func pathLost(givingUpRequest: Bool, _ effects: inout [DeliveryEffect]) {
        permission = .none
        wait?.isOnNewPath = true
        stage = .first
        spreadEnd = nil
        run = nil
        if givingUpRequest {
            for request in [probe].compactMap({ $0 }) + places.compactMap(\.request) { cancel(request, &effects) }
        }
        if check == .wanted { endCheck(&effects) }
    }

    mutating func pathBack() {
        permission = .proved
        stage = .open
    }

    mutating func becameReachable(_ outage: Outage, at now: Instant, _ effects: inout [DeliveryEffect]) {
        permission = .proved
        isFailing = false
        linkIsClosed = false
        updateConnectivityGate(at: now, &effects)
        if let probe { cancel(probe, &effects) }
        if check == .wanted { endCheck(&effects) }
        if wait?.cause == .unanswered { wait = nil }
        if wait == nil { backOff.reset() }
        tryHoldAgain(at: now)
        // What leaves first may do so much later.
        spreadEnd = now + settings.flushSpread.delay(after: outage, &random)
        if stage == .firstDone { beginSpread(at: now) }
        beginRun(at: now)
    }

    mutating func firstAcknowledged(at now: Instant) {
        if permission == .none { stage = .firstDone } else { beginSpread(at: now) }
    }

    /// A hold is tried again at once on a path that came after it.
    private mutating func tryHoldAgain(at now: Instant) {
        guard let wait, case .held = wait.cause, wait.isOnNewPath else { return }
        self.wait?.until = now
    }

    /// Ends a pause whose time is over.
    mutating func endPause(at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard let until = pausedUntil, until <= now else { return }
        pausedUntil = nil
        set(.paused, closed: false, at: now, &effects)
    }

    /// What was learnt of the destination may have been mended along with the configuration.
    mutating func reloaded(at now: Instant) {
        sizeLimit = SizeLimit()
        compression = .usual
        if let wait, case .held = wait.cause { self.wait?.until = min(wait.until, now) }
    }

    /// Ends the waits of back-off, hold and spread; the next request finds out whether that was right.
    mutating func endWaits(at now: Instant) {
        if let wait { self.wait?.until = min(wait.until, now) }
        if case .spread = stage { stage = .open }
        spreadEnd = nil
        if permission != .none { beginRun(at: now) }
    }

    /// Ends a wait whose time is over where nothing is left that a request could find out with; what comes next does.
    mutating func endIdleWait(at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard let wait, wait.until <= now, isIdle, !hasBacklog, !hasLetters else { return }
        endWait(at: now, &effects)
    }

    mutating func storageChanged(_ isDurable: Bool, at now: Instant, _ effects: inout [DeliveryEffect]) {
        if isDurable {
            undurable = nil
            set(.storage, closed: false, at: now, &effects)
        } else if undurable == nil {
            undurable = (0, 0)
        }
    }

    /// Counts a batch that is about to be settled while cursors cannot be made durable.
    mutating func countUndurable(_ batch: Batch, at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard var sum = undurable else { return }
        sum.events += UInt64(batch.events)
        sum.bytes += batch.body.count
        undurable = sum
        if sum.events >= Self.undurableEvents || sum.bytes >= Self.undurableBytes {
            set(.storage, closed: true, at: now, &effects)
        }
    }

    mutating func stop(_ effects: inout [DeliveryEffect]) {
        isStopped = true
        if check == .wanted { endCheck(&effects) }
    }

    /// A burial given up leaves at most a letter whose event is not settled, which reads give as dead from then on.
    mutating func replaced(_ effects: inout [DeliveryEffect]) {
        pathLost(givingUpRequest: true, &effects)
        for place in places.indices { places[place].burial = nil }
        stop(&effects)
    }

    private mutating func beginSpread(at now: Instant) {
        stage = .open
        if let spreadEnd, spreadEnd > now, hasBacklog { stage = .spread(until: spreadEnd) }
    }
}

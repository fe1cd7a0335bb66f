internal import Bytes
internal import Control
internal import Daemon
internal import Delivery
internal import Gates
internal import Intake
internal import Queue
internal import QueueSimulator
internal import Time

/// Consent: what is held is not sent, and is marked when it is; what is denied or purged is refused, and goes for good.
extension Promise {
    static let consentLog = LogName.consent(Simulation.category)
    /// A purge that failed is tried again after 10 s.
    private static let purgeLimit = Duration.seconds(15)

    /// The loop's thread takes an order.
    func ordered(_ order: OperatorOrder) {
        note("\(order) is asked for")
        let flying = simulation?.process?.flights.values.flatMap(\.events) ?? []
        switch order {
        case .consent(_, let word): orders.ask(ConsentState(word))
        case .purge: orders.askPurge()
        case .purgeEvent(let id):
            guard let event = event(of: id) else { return require(false, "\(id) is purged and nobody knows it") }
            orders.askPurge(of: event)
            if flying.contains(event) { count(.eventInFlight) }
        default: return
        }
        if order.takesCategoryOut, flying.contains(where: { posts[$0]?.log == Self.consentLog }) {
            count(.categoryInFlight)
        }
        consentMayChange()
    }

    /// The disk's thread begins with it: from now on any of what it covers may be gone, and nothing else.
    func carriesOut(_ order: OperatorOrder, _ queue: Queue) {
        let letters = queue.deadLetters(limit: .max).map(\.name)
        switch order {
        case .consent(_, let word): orders.findable.insert(ConsentState(word))
        case .purgeEvent(let id):
            guard let event = event(of: id), let log = posts[event]?.log else { return }
            orders.purged.insert(event)
            if letters.contains(where: { $0.log == log && numbers[log]?[$0.sequence] == event }) {
                count(.eventWithLetter)
            }
        default: break
        }
        guard order.takesCategoryOut else { return }
        orders.purgedThrough = max(orders.purgedThrough, accepted(queue))
        if letters.contains(where: { $0.log == Self.consentLog }) { count(.categoryWithLetters) }
    }

    /// The disk's thread is done with it; the newest number of the category's log then.
    func carriedOut(_ order: OperatorOrder, _ answer: OperatorAnswer, _ queue: Queue) -> UInt64 {
        note("\(order): \(answer)")
        if case .consent(_, let word) = order, Self.isDurable(answer) { orders.findable = [ConsentState(word)] }
        return accepted(queue)
    }

    /// The operator, or whoever gave the order, gets the answer: a receipt, or an error.
    func answered(_ order: OperatorOrder, _ answer: OperatorAnswer, through last: UInt64) {
        switch order {
        case .consent(_, let word):
            if word == .allow, Self.isDurable(answer), let since = orders.owesPurgeSince {
                require(purgeFailedAt >= since, "allowed again before what was denied is purged")
            }
            orders.answer(ConsentState(word), isDurable: Self.isDurable(answer))
        case .purge: orders.answerPurge()
        case .purgeEvent(let id):
            guard let event = event(of: id) else { return require(false, "\(id) is purged and nobody knows it") }
            orders.answerPurge(of: event)
            if case .purged(let events) = answer {
                require(events <= 1, "\(events) events are purged for one id")
                if events > 0 { count(.eventPurged) }
                orders.gone.insert(event)
                checkFiles()
            }
        default: return
        }
        switch answer {
        case .consent(.deny, let events):
            if events > 0 { count(.categoryDenied) }
            categoryIsGone(through: last)
        case .purged(let events):
            guard case .purge = order else { break }
            if orders.owesPurgeSince != nil, purgeFailedAt > openedAt {
                count(.purgedAfterError)
            } else if events > 0 {
                count(.categoryPurged)
            }
            categoryIsGone(through: last)
        case .unpurged:
            fails()
            if orders.state == .deny { orders.owesPurgeSince = now }
        case .failed: fails()
        default: break
        }
        consentMayChange()
    }

    private func fails() {
        purgeFailedAt = now
        count(.answeredWithError)
    }

    private func categoryIsGone(through last: UInt64) {
        require(last <= orders.purgedThrough, "events of the category were taken while they were purged")
        orders.owesPurgeSince = nil
        // What was posted since the order was refused at the door.
        orders.goneThrough = simulation?.events ?? 0
        checkFiles()
    }

    private static func isDurable(_ answer: OperatorAnswer) -> Bool {
        if case .failed = answer { false } else { true }
    }

    private func accepted(_ queue: Queue) -> UInt64 {
        queue.snapshot.logs.first { $0.name == Self.consentLog }?.accepted ?? 0
    }

    private func event(of id: String) -> Int? {
        guard let id = EventID(text: Array(id.utf8)) else { return nil }
        return ids.first { $0.value == id }?.key
    }

    private var now: Instant { simulation?.now ?? .distantFuture }

    /// What is given up in flight is formed anew: other ids may stand for the same bytes.
    func consentMayChange() {
        for name in tracks.keys {
            tracks[name]?.disturbances += 1
            tracks[name]?.bodies = [:]
        }
    }
}

/// What follows from the orders, at the door, on the way and on the disk.
extension Promise {
    /// A client comes with an event.
    func offered(to log: LogName, _ refusal: Refusal?) {
        guard log == Self.consentLog else { return }
        let isForConsent = refusal.map { [.denied, .purging].contains($0.reason) } ?? false
        if isForConsent { count(.refusedAtTheDoor) }
        require(
            isForConsent == orders.areRefusing,
            "\(log.text) is \(orders.state), refused: \(refusal?.detail ?? "no")")
    }

    /// What a start finds is what was made durable last, or an order without an answer.
    func checkRecoveredConsent(_ queue: Queue) {
        guard case .whole(let states) = queue.recovery.consent else {
            return require(false, "the states of consent are lost")
        }
        let state = states[Simulation.category] ?? .allow
        require(orders.findable.contains(state), "a start finds \(state), one of \(orders.findable) was kept")
        note("consent is \(state)")
        // Without a log there is nothing to purge.
        let owesPurge = state == .deny && accepted(queue) > 0
        if owesPurge, orders.findable.count > 1 { count(.leftToTheStart) }
        orders.found(state, owesPurgeSince: owesPurge ? now : nil)
        orders.purgedThrough = min(orders.purgedThrough, accepted(queue))
        checkFiles()
    }

    /// Nothing that is withheld or purged is on its way, and what is denied is purged without another order.
    func checkConsent(_ process: SimulatedProcess) {
        for flight in process.flights.values { checkLeaving(flight.events, to: flight.request.destination) }
        guard let since = orders.owesPurgeSince, !process.isStopping else { return }
        let latest = max(since, wokeAt, diskWrong) + Self.purgeLimit
        require(now <= latest, "the denied category is not purged since \(since)")
    }

    func checkLeaving(_ events: [Int], to name: String) {
        for event in events {
            let isWithheld = posts[event]?.log == Self.consentLog && orders.areWithholding
            require(!isWithheld, "\(event) is on its way to \(name), its category is \(orders.state)")
            require(orders.openEvents[event] == nil, "\(event) is on its way to \(name) while it is purged")
            require(!isGone(event), "\(event) is on its way to \(name) after the receipt of its purge")
        }
    }

    /// True for an event that nobody may see any more.
    func isGone(_ event: Int) -> Bool {
        orders.gone.contains(event) || event <= orders.goneThrough && posts[event]?.log == Self.consentLog
    }

    /// True for a number that an order to purge covers.
    func mayBePurged(_ log: LogName, _ sequence: UInt64) -> Bool {
        if log == Self.consentLog, sequence <= orders.purgedThrough { return true }
        return numbers[log]?[sequence].map(orders.purged.contains) ?? false
    }

    /// True for an event that is accepted and that an order to purge covers.
    func mayBePurged(_ event: Int) -> Bool {
        guard let log = posts[event]?.log, let sequence = ids[event]?.sequence else { return false }
        return mayBePurged(log, sequence)
    }

    /// No byte of what is gone is left, whatever the file.
    private func checkFiles() {
        guard orders.hasReceipts, let disk = simulation?.disk else { return }
        let mark = Array("{\"n\":".utf8)
        for path in disk.files {
            let bytes = disk.contents(of: path)
            var next = 0
            while let place = bytes.span.firstIndex(of: mark[0], from: next) {
                next = place + 1
                guard bytes[place...].starts(with: mark) else { continue }
                let rest = bytes[(place + mark.count)...]
                let digits = rest.prefix { (48...57).contains($0) }
                // A write that failed may end within a number.
                guard rest.dropFirst(digits.count).first == UInt8(ascii: ","), let event = Int(Array(digits).text)
                else { continue }
                require(!isGone(event), "\(path) holds \(event) after the receipt of its purge")
            }
        }
    }

    /// How an event of the category is seen: of the gates only connectivity goes before consent.
    func view(_ view: View, onHold: Bool) -> View {
        guard onHold else { return view }
        switch view {
        case .open: return .closed("consent")
        case .closed(let reason): return reason == "connectivity" ? view : .closed("consent")
        case .unclear: return view
        }
    }
}

extension OperatorOrder {
    /// No event of the category is to be left after it.
    fileprivate var takesCategoryOut: Bool {
        switch self {
        case .consent(_, let word): word == .deny
        case .purge: true
        default: false
        }
    }
}

internal import Bytes
internal import Control
internal import Delivery
internal import Gates
internal import Queue
internal import Reachability
internal import Time

/// What those who watch are told.
extension Coordinator {
    /// Has the kernel asked again once things have settled, and keeps why.
    mutating func markDirty(by cause: String, at now: Instant) {
        settle.mark(at: now)
        if !marks.contains(cause) { marks.append(cause) }
    }

    mutating func tellOfState(
        _ index: Int, _ from: DestinationState, _ to: DestinationState, _ reason: StateReason
    ) {
        let unit = units[index]
        var change = Change(.state)
        change.destination = unit.name
        change.from = from.rawValue
        change.to = to.rawValue
        change.reason = reason.rawValue
        change.detail = unit.reachability.detail.isEmpty ? nil : unit.reachability.detail
        change.cause = occasion == "answer" && unit.reachability.isChecking ? "check" : occasion ?? unit.cause
        effects.append(.change(change))
    }

    /// `cause` is why, where that is not what the event in hand says.
    mutating func tellOfGate(_ index: Int, by cause: String? = nil) {
        let gates = units[index].closedGates
        guard gates != units[index].toldGates else { return }
        var change = Change(.gate)
        change.destination = units[index].name
        change.from = units[index].toldGates
        change.to = gates
        change.detail = units[index].delivery.policyDetail
        change.cause = cause ?? occasion ?? units[index].cause
        units[index].toldGates = gates
        effects.append(.change(change))
    }

    /// What waits closes gates as well, and opens them when it is gone.
    mutating func tellOfGates() {
        for index in units.indices { tellOfGate(index) }
    }

    mutating func tellOfNetwork(_ type: ConnectionType) {
        var change = Change(.network)
        change.from = connectionType.name
        change.to = type.name
        change.cause = occasion ?? units.first?.cause
        effects.append(.change(change))
    }

    mutating func tellOfDelivery(_ index: Int, _ notice: DeliveryNotice, at now: Instant) {
        var change = Change(.delivery)
        change.destination = units[index].name
        change.cause = occasion
        switch notice {
        case .held(let reason, _, let detail, _):
            change.to = "held"
            change.reason = reason.rawValue
            change.detail = detail.isEmpty ? nil : detail
        case .buried(let event, let refusal):
            change.to = "dead"
            change.detail = "event \(event.text.text) was refused with \(refusal.status)"
        case .throttled(let status, let until):
            change.to = "throttled"
            change.detail = "status \(status), for \((until - now).milliseconds) ms"
        case .released: change.to = "released"
        case .flushed(let events, let span):
            change.to = "flushed"
            change.detail = "\(events) \(events == 1 ? "event" : "events") in \(span.milliseconds) ms"
        }
        effects.append(.change(change))
    }
}

extension CoordinatorEvent {
    /// What it is called where it is why something changes; nil where that was known before it, or is up to the timer.
    var occasion: String? {
        switch self {
        case .answered, .buried(_, _, .kept), .buried(_, _, .gone), .buried(_, _, .full): "answer"
        case .resolved: "lookup"
        case .resumed: "resume"
        case .flush, .pause, .resume, .probeAnswered, .consent, .lettersChanged: "operator"
        case .reloaded: "reload"
        case .cursors, .chunk, .readFailed, .letter, .late, .buried(_, _, .failed): "storage"
        case .committed: "event"
        case .token: "file"
        case .moved(let moves): moves.first?.kind.occasion
        case .networkChanged, .path, .defaultRoute, .timer, .stop: nil
        }
    }
}

extension Disposition.Kind {
    /// Why a cursor moves by itself over events of which that became.
    fileprivate var occasion: String {
        switch self {
        case .expired: "timer"
        case .evicted: "event"
        case .purged: "operator"
        case .delivered, .dead, .quarantined: "storage"
        }
    }
}

internal import Bytes
internal import Delivery
internal import Queue
package import Reachability
internal import SystemdService
package import Time

/// The wiring between the way to a destination and the delivery to it.
extension Coordinator {
    mutating func feed(_ name: String, _ event: DeliveryEvent, at now: Instant) {
        guard let index = units.firstIndex(where: { $0.name == name }) else { return }
        feed(index, delivery: event, at: now)
    }

    mutating func feedAll(_ event: DeliveryEvent, at now: Instant) {
        for index in units.indices { feed(index, delivery: event, at: now) }
    }

    /// Asks the kernel for the way to a destination, and, `resolving`, a name server.
    ///
    /// Without a path to a name server the kernel lets no question out, and names of /etc/hosts need none.
    mutating func evaluate(_ index: Int, resolving: Bool, at now: Instant) {
        if occasion != nil || units[index].reachability.state != .unknown { units[index].cause = occasion ?? "timer" }
        let unit = units[index]
        if unit.delivery.settings.url.scheme == .unix { return feed(index, .path(.local), at: now) }
        if unit.addresses.isEmpty {
            effects.append(.inquireDefault(destination: unit.name))
        } else {
            effects.append(.inquire(destination: unit.name, unit.addresses))
        }
        if let host = unit.lookupHost, resolving || unit.addresses.isEmpty { effects.append(.resolve(host: host)) }
    }

    mutating func feed(_ name: String, reachability event: ReachabilityEvent, at now: Instant) {
        guard let index = units.firstIndex(where: { $0.name == name }) else { return }
        feed(index, event, at: now)
    }

    mutating func resolved(_ host: String, _ addresses: [IPAddress], _ failure: String?, at now: Instant) {
        for index in units.indices where units[index].lookupHost == host {
            if addresses.isEmpty {
                feed(index, .resolutionFailed(failure ?? "no address"), at: now)
            } else {
                units[index].addresses = addresses
                effects.append(.inquire(destination: units[index].name, addresses))
            }
        }
    }

    mutating func feed(_ index: Int, _ event: ReachabilityEvent, at now: Instant) {
        steer(index, at: now) { machine in machine.handle(event, at: now) }
    }

    /// Gives all destinations other settings for watching the way; what is in flight stays so.
    package mutating func use(reachability settings: ReachabilitySettings, at now: Instant) -> [CoordinatorEffect] {
        occasion = "reload"
        for index in units.indices {
            steer(index, at: now) { machine in machine.use(settings: settings, at: now) }
        }
        return takeEffects()
    }

    private mutating func steer(
        _ index: Int, at now: Instant, _ change: (inout ReachabilityMachine) -> [ReachabilityEffect]
    ) {
        let before = (units[index].reachability.connectionType, units[index].reachability.connectivity)
        let reached = change(&units[index].reachability)
        let after = (units[index].reachability.connectionType, units[index].reachability.connectivity)
        if after.0 != before.0 { feed(index, delivery: .connectionType(after.0), at: now) }
        if after.1 != before.1 { feed(index, delivery: .connectivity(after.1), at: now) }
        updateContext(at: now)
        for effect in reached { carryOut(effect, index, at: now) }
    }

    private mutating func carryOut(_ effect: ReachabilityEffect, _ index: Int, at now: Instant) {
        switch effect {
        case .check: feed(index, delivery: .checkDue, at: now)
        case .attempt: feed(index, delivery: .attempt, at: now)
        case .evaluate(let resolving): evaluate(index, resolving: resolving, at: now)
        case .markDirty: markDirty(by: "answer", at: now)
        case .changed(let from, let to, let reason):
            announce(index, from, to, reason)
        case .pathLost(let givingUp): feed(index, delivery: .pathLost(givingUpRequest: givingUp), at: now)
        case .pathBack: feed(index, delivery: .pathBack, at: now)
        case .reachable(let outage):
            feed(index, delivery: .reachable(outage), at: now)
            // Those of the unit before a reload may have been closed.
            tellOfGate(index)
        case .dropConnections: effects.append(.dropConnections(destination: units[index].name))
        }
    }

    mutating func feed(_ index: Int, delivery event: DeliveryEvent, at now: Instant) {
        // A pause ends with the first event after its time, whatever that is.
        let mayEndPause =
            switch event {
            case .resume: false
            case .pause: true
            default: units[index].delivery.status.isPaused
            }
        let effects = units[index].delivery.handle(event, at: now)
        if mayEndPause, !units[index].delivery.status.isPaused {
            tellOfGate(index, by: "timer")
            self.effects += [.notice(.destinationPauseEnded(units[index].name)), .statusChanged]
        }
        for effect in effects { carryOut(effect, index, at: now) }
    }

    private mutating func carryOut(_ effect: DeliveryEffect, _ index: Int, at now: Instant) {
        let name = units[index].name
        switch effect {
        case .read(let id, let log, let from, let limit):
            effects.append(.read(destination: name, id: id, log, from: from, limitBytes: limit))
        case .send(let request): effects.append(.send(request, units[index].reachableAddresses))
        case .cancel(let request): effects.append(.cancel(request: request))
        case .settle(let log, let dispositions):
            effects.append(.settle(destination: name, log, dispositions))
        case .bury(let id, let log, let sequence, let refusal):
            effects.append(.bury(destination: name, id: id, log, sequence: sequence, refusal))
        case .readLetter(let id, let passage):
            effects.append(.readLetter(destination: name, id: id, passage))
        case .resolve(let log, let sequence):
            effects.append(.resolveLetter(DeadLetterName(destination: name, log: log, sequence: sequence)))
        case .readToken: effects.append(.readToken(destination: name))
        case .proved(let address): feed(index, .proved(by: address), at: now)
        case .failed(let reason, let detail): feed(index, .failed(reason, detail), at: now)
        case .portal(let detail): feed(index, .portal(detail), at: now)
        case .checkEnded: feed(index, .checkEnded, at: now)
        case .gatesChanged:
            updateContext(at: now)
            tellOfGate(index)
        case .notice(let notice): announce(index, notice, at: now)
        }
    }

    private mutating func announce(
        _ index: Int, _ from: DestinationState, _ to: DestinationState, _ reason: StateReason
    ) {
        effects.append(.statusChanged)
        tellOfState(index, from, to, reason)
        guard from != to else { return }
        let detail = units[index].reachability.detail
        effects.append(
            .notice(
                .destinationChanged(
                    units[index].name, from: from.rawValue, to: to.rawValue, reason: reason.rawValue,
                    detail: detail.isEmpty ? nil : detail)))
    }

    private mutating func announce(_ index: Int, _ notice: DeliveryNotice, at now: Instant) {
        let name = units[index].name
        effects.append(.statusChanged)
        tellOfDelivery(index, notice, at: now)
        switch notice {
        case .held(let reason, let status, let detail, let location):
            let text = [status.map { "status \($0)" } ?? "", detail, location.map { "Location: \($0)" } ?? ""]
            effects.append(
                .notice(
                    .destinationHeld(
                        name, reason: reason.rawValue,
                        detail: text.filter { !$0.isEmpty }.joined(separator: ", "))))
        case .buried(let event, let refusal):
            let refused = Notice.eventRefused(
                name, event: event.text.text, status: refusal.status, answer: Array(refusal.detail.prefix(2_048)).text)
            effects.append(.notice(refused))
        case .throttled(let status, let until):
            effects.append(.notice(.destinationThrottled(name, status: status, retryIn: until - now)))
        case .released: effects.append(.notice(.destinationReleased(name, events: 0)))
        case .flushed(let events, let span):
            effects.append(.notice(.flushFinished(name, events: events, took: span)))
        }
    }
}

internal import Time

extension ReachabilityMachine {
    mutating func took(_ verdict: PathVerdict, at now: Instant, _ effects: inout [ReachabilityEffect]) {
        let addressIsNew = !addressIsKnown
        addressIsKnown = true
        switch verdict {
        case .none(let reason, let text): pathWentAway(reason, text, at: now, &effects)
        case .usable(let candidates):
            guard let chosen = choose(from: candidates) else { preconditionFailure("a verdict without candidates") }
            self.candidates = candidates
            expiry = chosen.expiresAfter.map { now + $0 + Self.expiryMargin }
            lastVerdictType = chosen.connectionType
            pathIsThere = true
            settleOn(chosen, addressIsNew: addressIsNew, at: now, &effects)
        }
    }

    /// Keeps to the address that is connected, else to the path in use; a further address is no change.
    private func choose(from candidates: [Candidate]) -> Candidate? {
        candidates.first { $0.address != nil && $0.address == connected }
            ?? candidates.first { $0.path == candidate?.path } ?? candidates.first
    }

    private mutating func settleOn(
        _ chosen: Candidate, addressIsNew: Bool, at now: Instant, _ effects: inout [ReachabilityEffect]
    ) {
        let wasLost = lossDeadline != nil
        let hasChanged = candidate.map { $0.path != chosen.path } ?? false
        let hasFlapped = candidate.map { $0.carrierChanges != chosen.carrierChanges } ?? false
        lossDeadline = nil
        candidate = chosen
        if hasChanged {
            connected = nil
            if state == .verifying || state == .unreachable || state == .portal || state == .reachable {
                effects.append(.dropConnections)
                effects.append(.pathLost(givingUpRequest: true))
            }
            move(to: .verifying, .none, "", at: now, &effects)
            outageCause = outageCause == .start ? .start : .ownLink
            pathTriggered(at: now, &effects)
            return
        }
        if hasFlapped { effects.append(.dropConnections) }
        switch state {
        case .unknown, .noPath:
            move(to: .verifying, state == .unknown ? .start : .none, "", at: now, &effects)
            pathTriggered(at: now, &effects)
        case .reachable:
            if wasLost { effects.append(.pathBack) }
            // Checks may have been turned off during the loss.
            if wasLost, !settings.checks { effects.append(.attempt) }
        case .verifying, .unreachable, .portal:
            if wasLost || addressIsNew {
                pathTriggered(at: now, &effects)
            } else if checkIsDue {
                check(at: now, onTrigger: false, &effects)
            }
        }
    }

    /// Begins the early steps, with a check now.
    mutating func pathTriggered(at now: Instant, _ effects: inout [ReachabilityEffect]) {
        _ = schedule.reset(at: now)
        check(at: now, onTrigger: true, &effects)
    }

    mutating func pathWentAway(
        _ newReason: StateReason, _ text: String, at now: Instant, _ effects: inout [ReachabilityEffect]
    ) {
        pathIsThere = false
        checkIsDue = false
        expiry = nil
        switch state {
        case .unknown, .noPath:
            firstCheckEnded = true
            move(to: .noPath, newReason, text, at: now, &effects)
        case .verifying, .unreachable, .portal, .reachable:
            lossReason = (newReason, text)
            guard lossDeadline == nil else { return }
            lossDeadline = now + Self.lossHold
            effects.append(.pathLost(givingUpRequest: false))
        }
    }

    mutating func announceLoss(at now: Instant, _ effects: inout [ReachabilityEffect]) {
        lossDeadline = nil
        candidate = nil
        connected = nil
        firstCheckEnded = true
        checkIsStale = checkBegan != nil
        effects.append(.dropConnections)
        effects.append(.pathLost(givingUpRequest: true))
        move(to: .noPath, lossReason.0, lossReason.1, at: now, &effects)
        outageCause = outageCause == .start ? .start : .ownLink
        schedule.turnOn(at: now)
    }

    mutating func tookDefaultRoute(_ verdict: PathVerdict, at now: Instant, _ effects: inout [ReachabilityEffect]) {
        addressIsKnown = false
        pathIsThere = false
        candidate = nil
        connected = nil
        switch verdict {
        case .none(let reason, let text): pathWentAway(reason, text, at: now, &effects)
        case .usable(let candidates):
            lastVerdictType = candidates.first?.connectionType ?? .unknown
            lossDeadline = nil
            guard state == .unknown || state == .noPath else { return }
            move(to: .verifying, state == .unknown ? .start : .none, "", at: now, &effects)
            _ = schedule.reset(at: now)
            effects.append(.evaluate(resolving: true))
        }
    }
}

internal import Bytes
internal import Time

extension ReachabilityMachine {
    mutating func proved(by address: IPAddress?, at now: Instant, _ effects: inout [ReachabilityEffect]) {
        firstCheckEnded = true
        checkResult = .answered
        guard lossDeadline == nil, state != .noPath else { return }
        if let address, let proven = candidates.first(where: { $0.address == address }) {
            connected = address
            candidate = proven
            lastVerdictType = proven.connectionType
        }
        checkIsDue = false
        checkIsStale = false
        guard state != .reachable else { return }
        let outage = Outage(duration: now - outageBegan, cause: outageCause)
        schedule.turnOff()
        move(to: .reachable, .none, "", at: now, &effects)
        effects.append(.reachable(outage))
    }

    mutating func failed(
        _ newReason: StateReason, _ text: String, at now: Instant, _ effects: inout [ReachabilityEffect]
    ) {
        firstCheckEnded = true
        checkResult = .failed
        effects.append(.markDirty)
        switch state {
        case .noPath: return
        case .reachable where settings.checks:
            move(to: .verifying, newReason, text, at: now, &effects)
            checkIsDue = schedule.reset(at: now)
        case .reachable, .unknown, .verifying, .unreachable, .portal:
            guard !checkIsStale else { return }
            move(to: .unreachable, newReason, text, at: now, &effects)
            schedule.turnOn(at: now)
        }
    }

    mutating func portal(_ text: String, at now: Instant, _ effects: inout [ReachabilityEffect]) {
        firstCheckEnded = true
        checkResult = .portal
        guard state != .noPath, !checkIsStale else { return }
        let wasReachable = state == .reachable
        move(to: .portal, .portal, text, at: now, &effects)
        if wasReachable { _ = schedule.reset(at: now) }
    }

    mutating func resolutionFailed(_ text: String, at now: Instant, _ effects: inout [ReachabilityEffect]) {
        guard !addressIsKnown else { return }
        firstCheckEnded = true
        checkIsDue = false
        guard lossDeadline == nil, state != .noPath else { return }
        move(to: .unreachable, .dns, text, at: now, &effects)
        schedule.turnOn(at: now)
    }

    /// What a check found was told before; one that was given up, as its path was lost, found nothing.
    mutating func checkEnded(at now: Instant, _ effects: inout [ReachabilityEffect]) {
        if checkBegan != nil { statistics.checks[checkResult ?? .abandoned, default: 0] += 1 }
        checkBegan = nil
        let wasStale = checkIsStale
        checkIsStale = false
        guard wasStale, state != .reachable, pathIsThere else { return }
        check(at: now, onTrigger: false, &effects)
    }

    mutating func resumed(at now: Instant, _ effects: inout [ReachabilityEffect]) {
        effects.append(.dropConnections)
        if state == .reachable {
            effects.append(.pathLost(givingUpRequest: true))
            move(to: .verifying, .none, "", at: now, &effects)
        }
        _ = schedule.reset(at: now)
        checkIsDue = true
        checkIsStale = checkBegan != nil
        effects.append(.evaluate(resolving: !addressIsKnown || pathIsThere))
    }

    /// Looks now, unless the destination is known to be reachable; the beat of the checks stays as it is.
    mutating func wanted(_ effects: inout [ReachabilityEffect]) {
        guard state != .reachable else { return }
        checkIsDue = true
        effects.append(.evaluate(resolving: !addressIsKnown || pathIsThere))
    }

    mutating func timer(at now: Instant, _ effects: inout [ReachabilityEffect]) {
        if let lossDeadline, lossDeadline <= now { announceLoss(at: now, &effects) }
        if let expiry, expiry <= now {
            self.expiry = nil
            effects.append(.evaluate(resolving: false))
        }
        guard schedule.take(at: now) else { return }
        if let checkBegan, now - checkBegan >= settings.checkLimit {
            firstCheckEnded = true
            checkEnded(at: now, &effects)
        }
        checkIsDue = settings.checks
        effects.append(.evaluate(resolving: !addressIsKnown || settings.checks && pathIsThere))
    }
}

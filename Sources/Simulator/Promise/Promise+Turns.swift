internal import Daemon
internal import Delivery
internal import Queue
internal import Reachability
internal import Time

/// Settling and the rules of reachability, looked at after every step.
extension Promise {
    func heard(_ verdict: PathVerdict, _ name: String, isDefaultOnly: Bool) {
        guard var track = tracks[name] else { return }
        track.verdict = verdict
        track.isDefaultOnly = isDefaultOnly
        if case .usable(let candidates) = verdict {
            track.lastType = candidates.first?.connectionType.name ?? "unknown"
        }
        tracks[name] = track
    }

    func sleeps(from now: Instant, until instant: Instant) {
        note("sleep")
        sleptAt = now
        wokeAt = instant
    }

    /// What the coordinator made of an event.
    func told(
        _ event: CoordinatorEvent, _ effects: [CoordinatorEffect], _ coordinator: Coordinator, at now: Instant
    ) {
        switch event {
        case .answered: break
        case .moved(let moves):
            for move in moves { follow(move) }
        case .resumed:
            for name in tracks.keys { tracks[name]?.idleSince = now }
        case .buried(let name, _, let outcome):
            // One that cannot be set apart holds the destination, and with it all that waits.
            if case .full = outcome {
                tracks[name]?.disturbances += 1
                tracks[name]?.markedThrough = newest
            }
            answering = waiting.removeValue(forKey: name)
            guard let taken = answering, !Self.settlesDelivered(effects) else { break }
            if case .kept = outcome { require(taken.mayBeForgotten, "\(name): \(taken.events) taken and not settled") }
            tracks[name]?.repeatable += taken.events.count
            tracks[name]?.neighbours.formUnion(taken.events)
            answering = nil
        case .consent: for name in waiting.keys { waiting[name]?.mayBeForgotten = true }
        case .cursors: for name in tracks.keys { tracks[name]?.disturbances += 1 }
        default: require(answering == nil, "an answer was not told")
        }
        for case .bury(let name, _, _, _, _) in effects where answering?.isDelivered ?? false {
            waiting[name] = answering
            answering = nil
        }
        checkSettling(effects)
        answering = nil
        for unit in coordinator.units { follow(unit) }
    }

    private static func settlesDelivered(_ effects: [CoordinatorEffect]) -> Bool {
        effects.contains { effect in
            if case .settle(_, _, let dispositions) = effect { dispositions.ledger.delivered > 0 } else { false }
        }
    }

    /// A cursor moved by itself; past what was purged only where an order covers that.
    private func follow(_ move: CursorMove) {
        let low = tracks[move.destination]?.low[move.log] ?? 1
        note("\(move.destination): the cursor of \(move.log.text) moves from \(low) to \(move.low), \(move.kind)")
        if move.kind == .purged {
            for sequence in low..<max(low, move.low) {
                require(
                    mayBeLeftOut(move.log, sequence...sequence, move.destination),
                    "\(move.destination), \(move.log.text): \(sequence) is purged and nobody asked for it")
            }
            waiting[move.destination]?.mayBeForgotten = true
        }
        // An older word may come after a newer one.
        tracks[move.destination]?.low[move.log] = max(low, move.low)
    }

    /// A cursor moves after a 2xx, past what that request carried, and at no other time.
    private func checkSettling(_ effects: [CoordinatorEffect]) {
        var isSettled = false
        for case .settle(let name, let log, let dispositions) in effects {
            let low = tracks[name]?.low[log] ?? 1
            let ledger = dispositions.ledger
            let through = dispositions.last?.sequences.upperBound ?? 0
            // The cursor may have passed the first of them by itself meanwhile.
            let first = dispositions.first?.sequences.lowerBound ?? low
            guard through >= low, first <= low, ledger.total == through + 1 - first else {
                require(false, "\(name), \(log.text): settled through \(through) from \(low) with \(ledger)")
                return
            }
            let settled = (low...through).compactMap { numbers[log]?[$0] }
            tracks[name]?.low[log] = through + 1
            for run in dispositions where run.kind == .purged {
                require(
                    run.sequences.allSatisfy { mayBePurged(log, $0) },
                    "\(name), \(log.text): \(run.sequences) are purged and nobody asked for it")
            }
            for run in dispositions where run.kind == .dead {
                for event in run.sequences.compactMap({ numbers[log]?[$0] }) {
                    require(
                        tracks[name]?.letters.contains(event) ?? false, "\(name): \(event) is dead without a letter")
                }
            }
            if ledger.delivered == 0, mayBeLeftOut(log, low...through, name) { continue }
            guard let answering, answering.isDelivered, answering.destination == name else {
                require(false, "\(name), \(log.text): \(settled) settled without an answer")
                return
            }
            require(
                !isSettled && ledger.delivered == UInt64(answering.events.count)
                    && answering.events.allSatisfy { settled.contains($0) && hasKept(name, $0) }
                    && (low...through).allSatisfy { sequence in
                        mayBeLeftOut(log, sequence...sequence, name)
                            || numbers[log]?[sequence].map(answering.events.contains) ?? false
                    },
                "\(name), \(log.text): \(settled) settled by an answer to \(answering.events)")
            isSettled = true
        }
        for case .resolveLetter(let name) in effects {
            let event = numbers[name.log]?[name.sequence]
            let isTaken = answering?.isDelivered ?? false && answering?.events == event.map { [$0] }
            require(isTaken, "\(name): delivered without an answer")
            isSettled = true
        }
        if let answering, answering.isDelivered, !answering.isCheck {
            require(isSettled, "\(answering.destination): \(answering.events) delivered and not settled")
        }
    }

    private func follow(_ unit: DestinationUnit) {
        guard var track = tracks[unit.name] else { return }
        let connectivity = unit.reachability.connectivity
        if connectivity != track.connectivity {
            note("\(unit.name) is \(unit.reachability.state) \(unit.reachability.reason), \(connectivity)")
            if connectivity == .closed || track.connectivity == .closed {
                track.disturbances += 1
                track.markedThrough = newest
            }
            track.connectivity = connectivity
        }
        switch unit.reachability.state {
        case .unknown, .verifying: break
        case .noPath, .unreachable, .portal, .reachable: track.hasLooked = true
        }
        tracks[unit.name] = track
    }

    /// The check's timer runs exactly while not reachable; no check is on its way while reachable; none is left out.
    func turnEnded(_ process: SimulatedProcess, at now: Instant) {
        checkConsent(process)
        for unit in process.coordinator.units {
            let name = unit.name
            guard let track = tracks[name] else { continue }
            let flights = process.flights.values.filter { $0.request.destination == name }
            let isReachable = unit.reachability.state == .reachable
            let deadline = unit.reachability.deadline
            var hasPath = false
            if case .usable = track.verdict { hasPath = !track.isDefaultOnly }
            if isReachable {
                require(!flights.contains { $0.request.isCheck }, "a check of \(name) is on its way while reachable")
                require(!hasPath || deadline == nil, "\(name) is reachable and its timer runs")
            } else {
                let latest = now + settings.reachability.checkInterval
                require(
                    deadline.map { $0 <= latest } ?? false, "\(name) is not reachable, next look \(deadline as Any)")
            }
            let isWaiting = !isReachable && hasPath && flights.isEmpty && settings.reachability.checks
            guard isWaiting, !process.isStopping, diskWrong < now else {
                tracks[name]?.idleSince = now
                continue
            }
            let latest = max(track.idleSince, wokeAt) + settings.reachability.checkInterval + .seconds(2)
            require(now <= latest, "\(name): no check since \(track.idleSince)")
        }
    }
}

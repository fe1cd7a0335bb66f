internal import Bytes
internal import Daemon
internal import Delivery
internal import Queue
internal import Reachability
internal import Time

/// Promises 3 and 4, and the marks: what a request may be, and what it carries.
extension Promise {
    /// Looks at a request that leaves; returns its events.
    func sent(
        _ request: OutgoingRequest, _ addresses: [IPAddress], _ coordinator: Coordinator,
        _ flights: [UInt64: SimulatedProcess.Flight], life: Int, at now: Instant
    ) -> [Int] {
        let name = request.destination
        guard let unit = coordinator.units.first(where: { $0.name == name }), var track = tracks[name] else {
            return []
        }
        defer { tracks[name] = track }
        let isReachable = unit.reachability.state == .reachable
        let others = flights.values.filter { $0.request.destination == name }
        require(!addresses.isEmpty, "a request to \(name) without an address")
        if case .usable = track.verdict, !track.isDefaultOnly {
        } else {
            require(false, "a request to \(name) while there is no path")
        }
        if let simulation, simulation.network.active == nil {
            let known = max(simulation.pathLostAt, openedAt, wokeAt) + .milliseconds(1_100)
            require(now <= known, "a request to \(name) long after the path was lost")
        }
        if settings.reachability.checks, !isReachable {
            require(others.isEmpty, "a second request to \(name) while it is \(unit.reachability.state)")
        }
        track.idleSince = now
        guard !request.isCheck else {
            note("\(name): check \(request.id), \(unit.reachability.state)")
            require(!isReachable, "a check of \(name) while it is reachable")
            require(settings.reachability.checks, "a check of \(name), checks are off")
            return []
        }
        if let wait = track.notBefore { require(now >= wait, "a batch to \(name) before it wants one") }
        guard let format = settings.destinations.first(where: { $0.name == name })?.format,
            let events = SentEvent.events(in: request.body, format), !events.isEmpty
        else {
            require(false, "a batch to \(name) is not laid out as it should be")
            return []
        }
        let numbers = events.map(\.number)
        let log = posts[numbers[0]]?.log.text ?? "no log"
        note("\(name): request \(request.id) \(numbers) of \(log), \(unit.reachability.state)")
        checkLeaving(numbers, to: name)
        require(
            others.allSatisfy { areApart($0.events, numbers, track) },
            "two requests to \(name) in one place")
        if numbers.count == 1, track.letters.contains(numbers[0]) {
            require(
                ids[numbers[0]].map { events[0].id == $0.text.text } ?? false, "a letter of \(name) with another id")
            track.bodies[request.body] = nil
            _ = isNew(request, &track, life: life)
            return numbers
        }
        if numbers.count == 1, track.neighbours.contains(numbers[0]) { track.bodies[request.body] = nil }
        if isNew(request, &track, life: life) {
            checkMarks(events, track, unit.name, life: life)
        }
        checkEvents(events, &track, name)
        return numbers
    }

    /// True where two requests may have the two places; of what may be a letter it is not known which it has.
    private func areApart(_ first: [Int], _ second: [Int], _ track: Track) -> Bool {
        let mayBeLetter = [first, second].contains { $0.count == 1 && track.letters.contains($0[0]) }
        let logs = [first, second].map { $0.first.flatMap { posts[$0]?.log } }
        return mayBeLetter || (logs[0] == .urgent) != (logs[1] == .urgent)
    }

    /// A batch id stands for fixed bytes, and while the process lives those bytes for it; true where it is new.
    private func isNew(_ request: OutgoingRequest, _ track: inout Track, life: Int) -> Bool {
        let name = request.destination
        guard let id = request.headers.first(named: "Idempotency-Key"),
            let attempt = request.headers.first(named: "Uplink-Attempt").flatMap({ Int($0) })
        else {
            require(false, "a request to \(name) without its fields")
            return false
        }
        require(track.bodies[request.body] ?? id == id, "the same bytes to \(name) have two batch ids")
        track.bodies[request.body] = id
        let before = track.batches[id]
        if let before {
            require(before.life == life, "batch \(id) of \(name) outlived its process")
            require(before.body == request.body, "batch \(id) of \(name) has other bytes")
        }
        require(attempt == (before?.attempts ?? 0) + 1, "batch \(id) of \(name) is attempt \(attempt)")
        track.batches[id] = SentBatch(life: life, body: request.body, attempts: attempt)
        return before == nil
    }

    /// The same id on each try, the oldest first, nothing that is settled and nothing left out.
    private func checkEvents(_ events: [SentEvent], _ track: inout Track, _ name: String) {
        guard let log = posts[events[0].number]?.log else { return require(false, "an event that nobody posted") }
        let isNeighbour = track.refusedAlone.contains { refused in
            refused != events[0].number && !hasKept(name, refused)
                && (!track.letters.contains(refused) || track.unburied == refused)
        }
        if events.count == 1, isNeighbour { track.neighbours.insert(events[0].number) }
        var next = track.low[log] ?? 1
        for event in events {
            guard let post = posts[event.number], let id = ids[event.number] else {
                return require(false, "\(event.number) is sent to \(name) and was never accepted")
            }
            require(post.log == log, "a batch to \(name) of two logs")
            require(event.id == id.text.text, "\(event.number) goes to \(name) as \(event.id ?? "nothing")")
            // A commit that a power cut met may have lost its circumstances.
            let mayBeUnknown = event.type == "unknown" && !told.contains(event.number)
            require(
                event.type == post.type || mayBeUnknown,
                "\(event.number) was accepted on \(post.type), not \(event.type ?? "-")")
            // The event behind one that was refused alone tells whether all are.
            let isDue =
                id.sequence == next
                || id.sequence > next
                    && (next..<id.sequence).allSatisfy { sequence in
                        mayBeLeftOut(log, sequence...sequence, name)
                            || numbers[log]?[sequence].map(track.refusedAlone.contains) ?? false
                    }
            require(isDue, "\(name), \(log.text): number \(id.sequence) is sent where \(next) is due")
            next = id.sequence + 1
        }
    }

    /// `was_queued` and `queue_reason` of a batch that is sent for the first time.
    private func checkMarks(_ events: [SentEvent], _ track: Track, _ name: String, life: Int) {
        for event in events {
            guard let post = posts[event.number], let view = post.views[name], let id = ids[event.number] else {
                continue
            }
            let what = "\(event.number) to \(name), marked \(event.reason ?? "not at all")"
            require(event.isQueued == (event.reason != nil), "\(what): mark and reason differ")
            let hasWaited = id.sequence <= track.markedThrough[post.log] ?? 0
            switch view {
            case .closed(let reason):
                let mayBeUnknown = event.reason == "restart" && !told.contains(event.number)
                require(event.reason == reason || mayBeUnknown, "\(what): \(reason) when it was accepted")
            case .unclear:
                require(event.isQueued || post.life == life && !hasWaited, "\(what): it waited")
            case .open where post.life != life:
                require(event.reason == "restart", "\(what): it waited through a restart")
            case .open where hasWaited:
                let reasons = ["connectivity", "destination", "storage", "consent"]
                require(reasons.contains(event.reason ?? ""), "\(what): it waited through a failure")
            case .open(let disturbances) where disturbances == track.disturbances:
                require(!event.isQueued, "\(what): nothing held it")
            case .open: break
            }
        }
    }

    /// Events come to a collector; those that it keeps and did not have come in the order of acceptance.
    ///
    /// What comes again is no more than what unanswered requests and crashes account for.
    func arrived(_ destination: String, _ new: [Int], repeats: Int) {
        let repeatable = tracks[destination]?.repeatable ?? 0
        require(repeats <= repeatable, "\(destination): \(repeats) events came again, \(repeatable) may")
        for event in new where told.contains(event) {
            guard let post = posts[event], !(tracks[destination]?.letters.contains(event) ?? false) else { continue }
            // What was on its way when it was purged comes whenever it comes.
            if mayBePurged(event) {
                count(.arrivedLate)
                continue
            }
            let last = tracks[destination]?.newestArrival[post.log] ?? 0
            require(event > last, "\(destination), \(post.log.text): \(event) first comes after \(last)")
            tracks[destination]?.newestArrival[post.log] = event
        }
    }

    func ended(
        _ flight: SimulatedProcess.Flight, _ outcome: TransportOutcome, _ coordinator: Coordinator, at now: Instant
    ) {
        let name = flight.request.destination
        note("\(name): \(flight.request.id) ended, \(Self.words(for: outcome))")
        var isDelivered = false
        var isProof = false
        if case .answer(let answer) = outcome {
            let isOurs = answer.isVerifiedPeer || answer.headers.first(named: "X-Collector") == "yes"
            isDelivered = isOurs && (200...299).contains(answer.status)
            isProof = isOurs && !((300...399).contains(answer.status) || [407, 511].contains(answer.status))
            let seconds = answer.headers.first(named: "Retry-After").flatMap { Int($0) }
            if isOurs, let seconds, !flight.request.isCheck { tracks[name]?.notBefore = now + .seconds(seconds) }
        }
        answering = Answering(
            destination: name, events: flight.events, isCheck: flight.request.isCheck, isDelivered: isDelivered)
        tracks[name]?.idleSince = now
        if isDelivered { tracks[name]?.notBefore = nil }
        guard !(flight.request.isCheck ? isProof : isDelivered) else { return }
        if case .answer(let answer) = outcome, [400, 413, 415, 422].contains(answer.status), flight.events.count == 1 {
            tracks[name]?.refusedAlone.formUnion(flight.events)
        }
        tracks[name]?.disturbances += 1
        tracks[name]?.repeatable += flight.events.count
        if !flight.request.isCheck { tracks[name]?.markedThrough = newest }
    }

    private static func words(for outcome: TransportOutcome) -> String {
        switch outcome {
        case .answer(let answer): "answer \(answer.status)"
        case .failed(let failure): failure.reason.rawValue
        }
    }

    func cancelled(_ flight: SimulatedProcess.Flight, at now: Instant) {
        note("\(flight.request.destination): \(flight.request.id) cancelled")
        tracks[flight.request.destination]?.idleSince = now
        tracks[flight.request.destination]?.repeatable += flight.events.count
    }

    func flushed(_ name: String) {
        note("flush \(name)")
        tracks[name]?.notBefore = nil
    }
}

internal import Time

extension Destination {
    /// Takes up a check; a request that is in flight will tell, else one is sent as soon as it can be.
    mutating func checkDue(_ effects: inout [DeliveryEffect]) {
        // Checks may have been turned on meanwhile; what sent unproved waits for the proof.
        checksAreOff = false
        if permission == .unproved { permission = .none }
        guard !isStopped else { return effects.append(.checkEnded) }
        guard check == .none else { return }
        if let request = probe ?? places.lazy.compactMap(\.request).first {
            check = .riding(request)
        } else {
            check = .wanted
        }
    }

    /// Sends the check: the first batch where one may be sent, else a request without events.
    mutating func beginCheck(at now: Instant, _ effects: inout [DeliveryEffect]) {
        if mayCheckWithBatch(at: now), hasQueued(at: now) {
            guard pace.next <= now else { return }
            let order = places[Place.urgent].batch == nil && places[Place.rest].batch != nil ? [1, 0] : [0, 1]
            for place in order where fill(place, at: now, &effects) {
                if let request = places[place].request { check = .riding(request) }
                return
            }
            if backlogs.contains(where: { $0.read != nil }) { return }
        }
        let id = newID()
        probe = id
        check = .riding(id)
        effects.append(.send(requests.check(id: id)))
    }

    /// A wait that the destination asked for is kept, and a hold is tried again only on a path that came after it.
    private func mayCheckWithBatch(at now: Instant) -> Bool {
        guard blockingGate == nil, settings.tokenFault == nil else { return false }
        guard let wait else { return true }
        switch wait.cause {
        case .unanswered: return true
        case .throttled, .reauthorising: return wait.until <= now
        case .held: return wait.until <= now || wait.isOnNewPath
        }
    }

    mutating func endCheck(_ effects: inout [DeliveryEffect]) {
        guard check != .none else { return }
        check = .none
        effects.append(.checkEnded)
    }

    /// Ends a request without its outcome.
    mutating func cancel(_ request: UInt64, _ effects: inout [DeliveryEffect]) {
        effects.append(.cancel(request: request))
        if probe == request { probe = nil }
        for place in places.indices where places[place].request == request {
            places[place].request = nil
            setBack(place)
            places[place].batch?.mayBeKnown = true
        }
        if check == .riding(request) { endCheck(&effects) }
    }
}

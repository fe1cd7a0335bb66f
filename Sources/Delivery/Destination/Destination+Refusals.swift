internal import Gates
internal import Queue
internal import Reachability
internal import Time

/// What the destination refuses for what it holds: one event after the other is set apart, all others go on.
extension Destination {
    /// So many events refused alone in a row, with nothing taken between them, are no exceptions any more.
    private static let exceptions = 10

    /// One of the events of the place's batch is refused.
    mutating func refused(
        _ answer: TransportAnswer, _ place: Int, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        guard let batch = beginRefusal(answer, place, at: now, &effects) else { return }
        let isCompressed = requests.isCompressed(batch)
        if compression.refused(isCompressed: isCompressed, forItself: answer.status == 415) {
            dissolve(place)
        } else if batch.events > 1 {
            for index in backlogs.indices where backlogs[index].log == batch.log {
                backlogs[index].suspects = Suspects(through: batch.sequences.upperBound, events: batch.events)
            }
            dissolve(place)
        } else {
            refusedAlone(batch, answer, place, at: now, &effects)
        }
    }

    /// The place's batch is too long.
    mutating func tooLong(
        _ answer: TransportAnswer, _ place: Int, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        guard let batch = beginRefusal(answer, place, at: now, &effects) else { return }
        guard batch.events > 1 else { return refusedAlone(batch, answer, place, at: now, &effects) }
        sizeLimit.refused(bytes: batch.body.count)
        dissolve(place)
    }

    /// The event behind one that was refused was taken: only that one is to blame.
    mutating func buryAside(_ place: Int, _ effects: inout [DeliveryEffect]) {
        guard let (batch, refusal) = places[place].aside else { return }
        bury(batch, refusal, place, isOfAside: true, &effects)
    }

    /// Has the refused event tried again before anything behind it.
    mutating func setBack(_ place: Int) {
        guard let aside = places[place].aside.take() else { return }
        places[place].batch = aside.batch
        reform()
    }

    /// A refused event is kept as a dead letter, or not.
    mutating func buried(
        _ id: UInt64, _ outcome: BurialOutcome, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        guard let place = places.firstIndex(where: { $0.burial?.id == id }),
            let burial = places[place].burial.take()
        else { return }
        var taken: Batch?
        if burial.isOfAside {
            taken = places[place].batch
            setBack(place)
        }
        switch outcome {
        case .gone: dissolve(place)
        case .full(let detail), .failed(let detail):
            status.lastError = DestinationStatus.LastError(
                status: burial.refusal.status, detail: "an event is refused and cannot be set apart: \(detail)",
                location: nil, at: now)
            if case .full = outcome {
                hold(.refusing, at: now, &effects)
            } else {
                hold(.storage, at: now, &effects)
            }
        case .kept(let event):
            settleAsDead(place, at: now, &effects)
            effects.append(.notice(.buried(event, burial.refusal)))
            guard let taken else { return }
            places[place].batch = taken
            settle(place, at: now, &effects)
            reform()
        }
    }

    private mutating func settleAsDead(_ place: Int, at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard var batch = places[place].batch else { return }
        guard !batch.isLetter else { return places[place].batch = nil }
        batch.dispositions = batch.dispositions.reduce(into: []) { all, run in
            all.extend(run.kind == .delivered ? .dead : run.kind, run.sequences)
        }
        places[place].batch = batch
        settle(place, at: now, &effects)
        for index in backlogs.indices where backlogs[index].log == batch.log { backlogs[index].suspects = nil }
    }

    /// The destination has answered, so whatever it was held for before is over, unless that were refusals.
    ///
    /// Returns what was refused; nil where the event before it was, too, and nothing is to be learnt from it.
    private mutating func beginRefusal(
        _ answer: TransportAnswer, _ place: Int, at now: Instant, _ effects: inout [DeliveryEffect]
    ) -> Batch? {
        record(answer, at: now)
        prove(answer, &effects)
        if places[place].aside != nil {
            setBack(place)
            hold(.refusing, at: now, &effects)
            return nil
        }
        if wait?.cause != .held(.refusing) { endWait(at: now, &effects) }
        markAll(.destination)
        reform()
        guard let batch = places[place].batch else { preconditionFailure("nothing was sent") }
        return batch
    }

    /// Has the events of the place's batch cut anew.
    private mutating func dissolve(_ place: Int) {
        places[place].batch = nil
        reform()
    }

    /// Sets the place's one event apart, or, where nothing is taken any more, waits for a person or for better times.
    private mutating func refusedAlone(
        _ batch: Batch, _ answer: TransportAnswer, _ place: Int, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        let refusal = EventRefusal(
            status: answer.status, attempts: (batch.triesAsLetter ?? 0) + batch.attempts,
            detail: requests.secrets.hidden(in: answer.body))
        // A letter was an exception before.
        guard !batch.isLetter else { return bury(batch, refusal, place, isOfAside: false, &effects) }
        refusedInRow += 1
        if refusedInRow < Self.exceptions {
            bury(batch, refusal, place, isOfAside: false, &effects)
        } else if wait?.cause == .held(.refusing), backlogs.contains(where: { $0.log == batch.log && $0.hasUnformed }) {
            places[place].aside = (batch, refusal)
            places[place].batch = nil
        } else {
            hold(.refusing, at: now, &effects)
        }
    }

    private mutating func bury(
        _ batch: Batch, _ refusal: EventRefusal, _ place: Int, isOfAside: Bool, _ effects: inout [DeliveryEffect]
    ) {
        guard let sequence = batch.only else { preconditionFailure("more than one event to bury") }
        let id = newID()
        places[place].burial = (id, refusal, isOfAside)
        effects.append(.bury(id: id, batch.log, sequence: sequence, refusal))
    }
}

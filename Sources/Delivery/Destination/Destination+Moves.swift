internal import Queue
internal import Time

extension Destination {
    /// Lets go of what was read or formed of events that are disposed of.
    ///
    /// A request in flight goes on, unless its events were purged; so does a batch that is to be tried again, as long
    /// as one of its events is left.
    mutating func moved(_ move: CursorMove, at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard let index = backlogs.firstIndex(where: { $0.log == move.log }), move.low > backlogs[index].low else {
            return
        }
        backlogs[index].settle(through: move.low - 1)
        for place in places.indices {
            if places[place].prepared?.log == move.log { places[place].prepared = nil }
            guard move.kind == .purged, let batch = places[place].batch, batch.log == move.log, !batch.isLetter,
                batch.carriesEvent(below: move.low)
            else { continue }
            if let request = places[place].request { cancel(request, &effects) }
            places[place].batch = nil
            places[place].burial = nil
        }
        dropSettled()
        reform(index)
        advanceRun(by: 0, at: now, &effects)
    }

    /// Lets go of batches that are not in flight and of which no event is left.
    mutating func dropSettled() {
        for place in places.indices {
            guard let aside = places[place].aside?.batch,
                backlogs.contains(where: { $0.log == aside.log && $0.low > aside.sequences.upperBound })
            else { continue }
            places[place].aside = nil
        }
        for place in places.indices where places[place].isFree {
            guard let batch = places[place].batch, !batch.isLetter,
                backlogs.contains(where: { $0.log == batch.log && $0.low > batch.sequences.upperBound })
            else { continue }
            places[place].batch = nil
        }
    }
}

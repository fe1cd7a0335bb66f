internal import Gates
package import Queue

/// What may not leave for want of consent.
extension Destination {
    /// Takes the logs of which nothing may be sent; a batch in flight of one that joins them is given up.
    mutating func withhold(_ logs: Set<LogName>, _ effects: inout [DeliveryEffect]) {
        let changed = withheld.symmetricDifference(logs)
        guard !changed.isEmpty else { return }
        withheld = logs
        for index in backlogs.indices where changed.contains(backlogs[index].log) { backlogs[index].mark(.consent) }
        // One that is being set apart was answered, and is sent no more.
        for place in places.indices where places[place].burial == nil {
            drop(place, &effects) { changed.contains($0.log) }
        }
        reform()
        letters.changed()
        effects.append(.gatesChanged)
    }

    /// Gives up whatever may hold an event that is being purged; what else it holds is formed anew.
    mutating func letGo(of sequence: UInt64, _ effects: inout [DeliveryEffect]) {
        for place in places.indices { drop(place, &effects) { $0.sequences.contains(sequence) } }
        reform()
        letters.changed()
    }

    /// Has the events of a place's batches cut anew, whatever is in hand, if one is meant.
    private mutating func drop(_ place: Int, _ effects: inout [DeliveryEffect], where isMeant: (Batch) -> Bool) {
        guard [places[place].batch, places[place].aside?.batch].contains(where: { $0.map(isMeant) ?? false })
        else { return }
        if let request = places[place].request { cancel(request, &effects) }
        places[place].burial = nil
        setBack(place)
        if places[place].batch.map(isMeant) ?? false { places[place].batch = nil }
    }

    /// The categories' logs of which something waits for consent, in order.
    package var keptBack: [LogName] {
        let logs = withheld.filter { log in backlogs.contains { $0.log == log && !$0.isEmpty } }
        return logs.sorted { $0.text < $1.text }
    }

    /// Which categories wait: `ads and metrics wait for consent`.
    var consentDetail: String? {
        let names = keptBack.compactMap(\.category)
        guard !names.isEmpty else { return nil }
        return "\(names.joined(separator: " and ")) \(names.count == 1 ? "waits" : "wait") for consent"
    }
}

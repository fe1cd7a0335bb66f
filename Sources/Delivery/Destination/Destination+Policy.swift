internal import Gates
internal import Queue
internal import Reachability
internal import Time

/// What may not leave by the network that there is.
extension Destination {
    /// True where events of that log may leave now.
    func mayLeave(_ log: LogName) -> Bool { passage.allows(log) }

    var passage: Passage { Passage(policy: settings.networkPolicy, type: networkType) }

    /// Takes the kind of network; with no path, the last one counts, and other gates are closed.
    ///
    /// One that stays unknown is told by nothing but what is asked for once there is a path.
    mutating func learnNetwork(at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard connectionType != .none, connectionType != networkType else { return }
        networkType = connectionType
        guard settings.networkPolicy != .any else { return }
        set(.policy, closed: !settings.networkPolicy.allowsAny(by: connectionType), at: now, &effects)
        for index in backlogs.indices where !mayLeave(backlogs[index].log) { backlogs[index].mark(.policy) }
        reform()
        letters.changed()
    }

    /// Lets go of batches that may not leave any more and are not in flight; others of their place are not held up.
    mutating func dropForbidden() {
        for place in places.indices where places[place].isFree {
            let held = [places[place].batch, places[place].aside?.batch].compactMap { $0?.log }
            guard !held.allSatisfy(mayLeave) else { continue }
            setBack(place)
            guard let batch = places[place].batch, !mayLeave(batch.log) else { continue }
            places[place].batch = nil
            reform()
        }
    }
}

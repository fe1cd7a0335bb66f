internal import Gates
package import Queue
internal import Reachability
internal import Time

/// What may not leave by the network that there is, or without consent.
extension Destination {
    /// The lanes of which nothing may leave by the network that there is.
    package var lanesKeptBack: [LogName] {
        settings.networkPolicy == .any ? [] : LogName.lanes.filter { !passage.allowsByNetwork($0) }
    }

    /// True where events wait for another network, or would.
    var waitsForNetwork: Bool {
        gates.isClosed(.policy) || backlogs.contains { !$0.isEmpty && !passage.allowsByNetwork($0.log) }
    }

    /// Words for people beside the status' `reason`; nil where it says all, or the last error says more.
    package var reasonDetail: String? {
        switch status.reason {
        case .policy: policyDetail
        case .consent: consentDetail
        case .unauthorized: settings.tokenFault
        case .throttled: wait?.asked.map(Self.words(ofAsked:))
        case .none:
            if case .spread = stage, permission != .none { "the rest is spread after the outage" } else { nil }
        default: nil
        }
    }

    private static func words(ofAsked span: Duration) -> String {
        let length = span < RetryAfter.maximum ? "\(span.components.seconds) s" : "an hour or more"
        return "it asked for \(length), and is given some more at random"
    }

    /// Which lanes wait for what: `normal and bulk wait for ethernet or wifi; the network is cellular`.
    package var policyDetail: String? {
        guard let networkType else { return nil }
        var parts: [(lanes: [LogName], types: Set<ConnectionType>)] = []
        for lane in lanesKeptBack {
            let types = settings.networkPolicy.types(of: lane) ?? []
            if let same = parts.firstIndex(where: { $0.types == types }) {
                parts[same].lanes.append(lane)
            } else {
                parts.append(([lane], types))
            }
        }
        let sentences = parts.map { lanes, types in
            let types = ConnectionType.allCases.filter(types.contains).map(\.name).joined(separator: " or ")
            guard lanes != LogName.lanes else { return "all waits for \(types)" }
            let names = lanes.map(\.text).joined(separator: " and ")
            return "\(names) \(lanes.count == 1 ? "waits" : "wait") for \(types)"
        }
        guard !sentences.isEmpty else { return nil }
        return (sentences + ["the network is \(networkType.name)"]).joined(separator: "; ")
    }

    /// True where events of that log may leave now.
    func mayLeave(_ log: LogName) -> Bool { passage.allows(log) }

    var passage: Passage { Passage(policy: settings.networkPolicy, type: networkType, withheld: withheld) }

    /// Takes the kind of network; with no path, the last one counts, and other gates are closed.
    ///
    /// One that stays unknown is told by nothing but what is asked for once there is a path.
    mutating func learnNetwork(at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard connectionType != .none, connectionType != networkType else { return }
        networkType = connectionType
        guard settings.networkPolicy != .any else { return }
        set(.policy, closed: !settings.networkPolicy.allowsAny(by: connectionType), at: now, &effects)
        for index in backlogs.indices where !passage.allowsByNetwork(backlogs[index].log) {
            backlogs[index].mark(.policy)
        }
        reform()
        letters.changed()
        // The gate is open while one lane may leave, but those who watch are told of each.
        effects.append(.gatesChanged)
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

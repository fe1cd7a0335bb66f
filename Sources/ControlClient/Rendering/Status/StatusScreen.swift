internal import Bytes
internal import Time

/// The status on one screen, for somebody who has never seen it; colour only says again what the words say.
struct StatusScreen {
    private enum Style: String {
        case bold = "1"
        case good = "32"
        case waiting = "33"
        case bad = "31"
    }

    private let status: StatusDocument
    private let now: WallTime
    private let usesColour: Bool

    /// A screen as of `now`, which the ages of the status are counted to.
    init(_ status: StatusDocument, now: WallTime, usesColour: Bool) {
        self.status = status
        self.now = now
        self.usesColour = usesColour
    }

    /// The whole screen; each line ends with a line feed.
    var text: String {
        let parts = [[header]] + destinations + [[paint("This machine", .bold)] + rows(machine)] + attention
        return parts.map { $0.map { $0 + "\n" }.joined() }.joined(separator: "\n")
    }

    private var header: String {
        let up = status.uptime.map { " for \(Quantity.duration($0))" } ?? ""
        let state = paint(status.state, status.state == "running" ? .good : .bad)
        return paint("uplinkd \(status.version)", .bold) + ": \(state)\(up)"
    }

    private var destinations: [[String]] {
        guard !status.destinations.isEmpty else {
            let cure =
                "name a collector in uplinkd.conf, by URL= in [Destination \"main\"]; then: uplinkctl reload"
            return [
                [paint("No destination is configured: events are kept, and sent nowhere.", .bold)]
                    + rows([("To do", cure)])
            ]
        }
        return status.destinations.map { one in
            let words = DestinationWords(one, now: now)
            let isGood = one.state == "reachable" && one.flags.isEmpty && one.fileFault == nil
            return ["\(paint(one.name, .bold)): \(paint(words.state, isGood ? .good : .waiting))"] + rows(words.rows)
        }
    }

    private var machine: [(String, String)] {
        var rows = [
            ("Network", status.connectionType + (age(status.networkSince).map { " for \($0)" } ?? "")),
            ("Queue", queue), ("Room", room), ("Storage", storage), ("Intake", intake),
        ]
        if let cure = FullQueue.cure(status) { rows.append(("To do", cure)) }
        rows += status.consent.filter { $0.state != "allow" }.map { ("Consent", words(of: $0.category, $0.state)) }
        if !status.isClockSynchronised {
            rows.append(("Clock", "not synchronised: times and ages may be wrong"))
        }
        return rows
    }

    private var queue: String {
        let share = Quantity.share(status.queueBytes, of: status.queueBoundBytes).map { " (\($0))" } ?? ""
        let bound = Amount.bytes(status.queueBoundBytes)
        let isLess = status.queueBoundBytes < status.queueLimitBytes
        let reason = isLess ? ", all that the file system has room for" : ""
        let size = "\(Amount.bytes(status.queueBytes)) of \(bound)\(reason)\(share)"
        let refused = status.refusedLanes.isEmpty ? nil : "takes no \(status.refusedLanes.listed) events"
        let logs = status.logs.filter { $0.events > 0 }.map { "\($0.name) \(Quantity.count($0.events))" }
        return [size, refused, logs.isEmpty ? "no event waits" : "events: " + logs.joined(separator: ", ")]
            .compactMap { $0 }.joined(separator: "; ")
    }

    private var room: String {
        guard let room = status.room else { return "for how long is not known yet" }
        return "for \(Quantity.duration(room)) if nothing leaves and events come as in the last day"
    }

    private var storage: String {
        let state = paint(status.storageState, Attention.storageIsWell(status) ? .good : .bad)
        let sync = status.lastSyncMicroseconds.map { "last sync took \(Quantity.microseconds($0))" }
        // It may say of itself that it is full.
        let isSaid = status.storageDetail?.hasPrefix(status.storageState) ?? false
        return [isSaid ? nil : state, status.storageDetail, sync].compactMap { $0 }.joined(separator: "; ")
    }

    private var intake: String {
        func count(_ name: String) -> String { Quantity.count(status.intake[name] ?? 0) }
        let clients = status.intake["connections"] ?? 0
        let accepted = "\(count("accepted")) \(status.intake["accepted"] == 1 ? "event" : "events")"
        let refusals = status.intake["refused"] == 1 ? "request or line" : "requests or lines"
        return (status.isReady ? "" : "new events are refused; ")
            + "\(accepted) accepted since the start, \(count("refused")) \(refusals) refused, "
            + "\(count("duplicates")) repeated; \(Quantity.count(clients)) \(clients == 1 ? "client" : "clients") now"
    }

    private func words(of category: String, _ state: String) -> String {
        let events = status.logs.first { $0.name == "consent-\(category)" }?.events ?? 0
        switch state {
        case "hold":
            let way = "uplinkctl consent set \(category) allow"
            guard events > 0 else { return "\(category) on hold: no event of it waits; to let them leave: \(way)" }
            let kept = "\(Quantity.count(events)) \(events == 1 ? "event waits" : "events wait")"
            return "\(category) on hold: \(kept) until: \(way)"
        case "deny": return "\(category) denied: its events are refused"
        default: return "\(category) \(state)"
        }
    }

    private var attention: [[String]] {
        let reasons = Attention.reasons(status, now: now)
        return reasons.isEmpty ? [] : [[paint("Needs a person:", .bad)] + reasons.map { "  " + $0 }]
    }

    private func rows(_ rows: [(String, String)]) -> [String] {
        rows.map { title, text in "  \(title)\(String(repeating: " ", count: max(0, 9 - title.count)))\(text)" }
    }

    private func age(_ time: WallTime?) -> String? { time.map { Quantity.duration($0.duration(to: now)) } }

    private func paint(_ text: String, _ style: Style) -> String {
        usesColour ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }
}

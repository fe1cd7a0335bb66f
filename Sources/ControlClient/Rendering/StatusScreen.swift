internal import Bytes
internal import Time

/// The status on one screen, in plain ASCII; colour only says again what the words say.
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
        let parts = [header] + summary.map { "  \(pad($0.0, 8))  \($0.1)" } + [""] + table + attention
        return parts.joined(separator: "\n") + "\n"
    }

    private var header: String {
        let up = status.uptime.map { " for \(Quantity.duration($0))" } ?? ""
        let state = paint(status.state, status.state == "running" ? .good : .bad)
        return paint("uplinkd \(status.version)", .bold) + ": \(state)\(up)"
    }

    private var summary: [(String, String)] {
        var rows = [
            ("Network", status.connectionType + (age(status.networkSince).map { " for \($0)" } ?? "")),
            ("Queue", queue),
            ("Storage", storage),
            ("Intake", intake),
        ]
        if !status.consent.isEmpty {
            rows.append(("Consent", status.consent.map { "\($0.category) \($0.state)" }.joined(separator: ", ")))
        }
        if !status.isClockSynchronised {
            rows.append(("Clock", "not synchronised: times and ages may be wrong"))
        }
        return rows
    }

    private var queue: String {
        let share = Quantity.share(status.queueBytes, of: status.queueLimitBytes).map { " (\($0))" } ?? ""
        let size = "\(Quantity.bytes(status.queueBytes)) of \(Quantity.bytes(status.queueLimitBytes))\(share)"
        let logs = status.logs.map { "\($0.name) \(Quantity.count($0.events))" }.joined(separator: ", ")
        let room = status.room.map { "room for \(Quantity.duration($0))" }
        return [size, refused, logs.isEmpty ? nil : "events: " + logs, room].compactMap { $0 }.joined(separator: "; ")
    }

    /// The lanes that a queue so full may refuse, by their shares of `MaxSize=` (rule 15 of the queue).
    private var refused: String? {
        let lanes = [("bulk", Int64(80)), ("normal", 95)].filter {
            status.queueBytes / $0.1 >= status.queueLimitBytes / 100
        }
        guard !lanes.isEmpty, status.queueLimitBytes > 0 else { return nil }
        return "nearly full, new \(lanes.map(\.0).joined(separator: " and ")) events may be refused"
    }

    private var storage: String {
        let state = paint(status.storageState, Attention.storageIsWell(status) ? .good : .bad)
        let sync = status.lastSyncMicroseconds.map { "last sync took \(Quantity.microseconds($0))" }
        return [state, status.storageDetail, sync].compactMap { $0 }.joined(separator: "; ")
    }

    private var intake: String {
        func count(_ name: String) -> String { "\(Quantity.count(status.intake[name] ?? 0)) \(name)" }
        let clients = status.intake["connections"] ?? 0
        return "since the start \(count("accepted")), \(count("refused")), \(count("duplicates"));"
            + " now \(Quantity.count(clients)) \(clients == 1 ? "client" : "clients")"
    }

    private var table: [String] {
        guard !status.destinations.isEmpty else { return ["No destination is configured; events are kept."] }
        let titles = ["DESTINATION", "STATE", "FOR", "QUEUED", "OLDEST", "DELIVERED IN ALL", "NEXT TRY"]
        let rows = [titles] + status.destinations.map { cells($0) }
        let widths = titles.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        var lines: [String] = []
        for (index, row) in rows.enumerated() {
            var line = ""
            for (column, cell) in row.enumerated() {
                let isNumber = column == 3 || column == 5
                let padded = pad(cell, widths[column], right: isNumber)
                let isState = column == 1 && index > 0
                line += (column == 0 ? "" : "  ") + (isState ? paint(padded, stateStyle(cell)) : padded)
            }
            while line.last == " " { line.removeLast() }
            lines.append(index == 0 ? paint(line, .bold) : line)
            if index > 0 { lines += notes(status.destinations[index - 1]).map { "  " + $0 } }
        }
        return lines
    }

    private func cells(_ one: StatusDocument.Destination) -> [String] {
        let next = one.nextAttemptAt.map { time in
            let wait = now.duration(to: time)
            return wait < .seconds(1) ? "now" : "in " + Quantity.duration(wait)
        }
        let state = one.flags.contains("removed") ? one.flags : [one.state] + one.flags
        return [
            one.name, state.joined(separator: ", "), age(one.since) ?? "-",
            Quantity.count(one.ledger["queued"] ?? 0),
            one.oldestAge.map { Quantity.duration($0) } ?? "-", Quantity.count(one.ledger["delivered"] ?? 0),
            next ?? "-",
        ]
    }

    /// What does not fit in the row: the reason, tries and last success, the last error, what was lost.
    private func notes(_ one: StatusDocument.Destination) -> [String] {
        var notes: [String] = []
        let error = one.attempts > 0 || !one.flags.isEmpty ? one.lastError : nil
        let detail = one.reasonDetail.flatMap { Array((error ?? "").utf8).holds($0.utf8) ? nil : $0 }
        let reason = [one.reason == "none" ? nil : one.reason, detail].compactMap { $0 }
        if !reason.isEmpty { notes.append(reason.joined(separator: ": ")) }
        if one.flags.contains("removed") {
            notes.append("no longer configured: its events, and all new ones, are kept for it and take room, until its")
            notes.append("section is put back, or uplinkctl destination forget \(one.name), or destination rename")
        }
        if one.attempts > 0 {
            let success = age(one.lastSuccess).map { "last success \($0) ago" } ?? "no success yet"
            notes.append("\(one.attempts) \(one.attempts == 1 ? "try" : "tries") without success; \(success)")
        }
        if let error {
            notes.append("last error" + (age(one.lastErrorAt).map { " \($0) ago" } ?? "") + ": \(error)")
        }
        let lost = ["dead", "expired", "evicted", "purged", "quarantined"].compactMap { name -> String? in
            guard let count = one.ledger[name], count > 0 else { return nil }
            return "\(Quantity.count(count)) \(name)"
        }
        if !lost.isEmpty { notes.append("not delivered: " + lost.joined(separator: ", ")) }
        return notes
    }

    private var attention: [String] {
        let reasons = Attention.reasons(status)
        guard !reasons.isEmpty else { return [] }
        return ["", paint("Needs a person:", .bad)] + reasons.map { "  " + $0 }
    }

    private func stateStyle(_ cell: String) -> Style { cell == "reachable" ? .good : .waiting }

    private func age(_ time: WallTime?) -> String? { time.map { Quantity.duration($0.duration(to: now)) } }

    private func paint(_ text: String, _ style: Style) -> String {
        usesColour ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    private func pad(_ text: String, _ width: Int, right: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return right ? space + text : text + space
    }
}

extension WallTime {
    fileprivate func duration(to later: WallTime) -> Duration { .milliseconds(later.milliseconds - milliseconds) }
}

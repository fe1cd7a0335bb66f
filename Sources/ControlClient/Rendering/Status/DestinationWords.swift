internal import Bytes
internal import Time

/// What a person is told of a destination: its state, why, what happens next and when, what waits, what was lost.
struct DestinationWords {
    private let one: StatusDocument.Destination
    private let now: WallTime

    /// Words as of `now`, which the ages are counted to.
    init(_ one: StatusDocument.Destination, now: WallTime) {
        self.one = one
        self.now = now
    }

    /// `reachable for 41 s`, `held; no-path for 2 h`.
    var state: String {
        if one.flags.contains("removed") { return "removed from the configuration" }
        let reachability = one.state + (age(one.since).map { " for \($0)" } ?? "")
        return (one.flags + [reachability]).joined(separator: "; ")
    }

    /// Each with what it is about.
    var rows: [(String, String)] {
        let rows = [
            ("Why", why), ("Error", error), ("To do", cure), ("Next", next), ("Waiting", waiting), ("Sent", sent),
            ("Dead", dead), ("Given up", givenUp), ("Lost", lost ?? "nothing"),
        ]
        return rows.compactMap { title, text in text.map { (title, $0) } }
    }

    private var isHeld: Bool { one.flags.contains("held") }
    private var isPaused: Bool { one.flags.contains("paused") }
    private var queued: Int64 { one.ledger["queued"] ?? 0 }

    private var why: String? {
        if one.flags.contains("removed") { return "its events, and all new ones, are kept for it and take room" }
        if let fault = one.fileFault { return fault }
        let isUnasked = isHeld && one.reason == "unauthorized" && one.token == "missing"
        let words =
            isUnasked ? "its token cannot be used, and nothing is sent without" : ReasonWords.meaning(of: one.reason)
        let meaning = words.map { "\($0) (\(one.reason))" }
        let plain = meaning ?? (one.reason == "none" ? nil : one.reason)
        // What the error says need not be said twice.
        let detail = one.reasonDetail.flatMap { Array((error ?? "").utf8).holds($0.utf8) ? nil : $0 }
        let parts = [plain, detail].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ": ")
    }

    /// The last error, while it matters.
    private var error: String? {
        guard let last = one.lastError, isHeld || one.flags.contains("throttled") || one.attempts > 0 && !isOver
        else { return nil }
        // A file that cannot be used is why already.
        if let fault = one.fileFault, Array(fault.utf8).holds(last.utf8) { return nil }
        return last + (age(one.lastErrorAt).map { ", \($0) ago" } ?? "")
    }

    /// It was reached since the last error.
    private var isOver: Bool {
        guard one.state == "reachable", let since = one.since, let at = one.lastErrorAt else { return false }
        return since.milliseconds > at.milliseconds
    }

    private var cure: String? {
        if one.flags.contains("removed") {
            return "put its section back, or: uplinkctl destination forget \(one.name), or: "
                + "uplinkctl destination rename \(one.name) NEW"
        }
        if one.fileFault != nil { return "correct the file, then: uplinkctl reload" }
        if isHeld { return ReasonWords.cure(of: one.reason, one.name, token: one.token) }
        switch (one.state, one.reason) {
        case ("portal", _): return "log in to the network, if it is one that asks for it"
        case ("unreachable", "tls"): return "see what is wrong with it, and what mends it: uplinkctl probe \(one.name)"
        default: return nil
        }
    }

    private var next: String? {
        if one.flags.contains("removed") { return nil }
        if isPaused { return "nothing is sent until: uplinkctl resume \(one.name)" + pauseEnd }
        if one.state == "no-path" { return "it is tried as soon as there is a way; until then nothing is sent" }
        if let time = one.nextAttemptAt {
            let wait = now.duration(to: time)
            let tries = "\(Quantity.count(one.attempts)) \(one.attempts == 1 ? "try" : "tries") without success so far"
            return "it is tried again \(wait < .seconds(1) ? "now" : "in " + Quantity.duration(wait))"
                + (one.attempts > 0 ? "; \(tries)" : "")
        }
        guard one.state == "reachable" else { return nil }
        guard queued > 0 else { return "what is accepted is sent at once" }
        switch one.reason {
        case "consent", "policy": return "what may leave is sent at once; the rest waits"
        case "storage": return "nothing is sent until the disk does its part again"
        default: return "what waits is being sent, the oldest first"
        }
    }

    private var pauseEnd: String {
        guard let time = one.nextAttemptAt, time.milliseconds > now.milliseconds else { return "" }
        return ", or for \(Quantity.duration(now.duration(to: time)))"
    }

    private var waiting: String {
        guard queued > 0 else { return "nothing" }
        return events(queued) + (one.oldestAge.map { ", the oldest for \(Quantity.duration($0))" } ?? "")
    }

    private var sent: String {
        let delivered = one.ledger["delivered"] ?? 0
        guard delivered > 0 else { return "nothing yet" }
        return events(delivered) + (age(one.lastSuccess).map { ", the last \($0) ago" } ?? "")
    }

    private var dead: String? {
        guard let count = one.ledger["dead"], count > 0 else { return nil }
        let letters = count == 1 ? "event that it refused for good is" : "events that it refused for good are"
        return "\(Quantity.count(count)) \(letters) kept apart: uplinkctl dead ls --destination \(one.name)"
    }

    /// What was meant to go: by its time to live, or by an operator.
    private var givenUp: String? { counts([("expired", "expired"), ("purged", "purged by an operator")]) }

    private var lost: String? {
        counts([("evicted", "evicted to make room"), ("quarantined", "damaged on disk")])
    }

    private func counts(_ kinds: [(String, String)]) -> String? {
        let parts = kinds.compactMap { name, words -> String? in
            guard let count = one.ledger[name], count > 0 else { return nil }
            return "\(Quantity.count(count)) \(words)"
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private func events(_ count: Int64) -> String { "\(Quantity.count(count)) \(count == 1 ? "event" : "events")" }

    private func age(_ time: WallTime?) -> String? { time.map { Quantity.duration($0.duration(to: now)) } }
}

extension WallTime {
    /// The time from this one to a later one.
    func duration(to later: WallTime) -> Duration { .milliseconds(later.milliseconds - milliseconds) }
}

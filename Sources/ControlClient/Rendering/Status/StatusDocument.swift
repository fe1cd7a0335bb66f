internal import JSON
internal import Time

/// The daemon's status as the tool reads it: unknown members are passed over, missing ones are nil, texts printable.
struct StatusDocument {
    /// One destination.
    struct Destination {
        var name = ""
        var state = ""
        var reason = ""
        var reasonDetail: String?
        var since: WallTime?
        var flags: [String] = []
        var ledger: [String: Int64] = [:]
        var oldestAge: Duration?
        var lastSuccess: WallTime?
        /// Status and text of the last error.
        var lastError: String?
        var lastErrorAt: WallTime?
        /// Which file of certificates cannot be used, and why.
        var fileFault: String?
        /// `none`, `good`, or `missing`.
        var token: String?
        /// Since when its certificate was refused whenever it was shown.
        var certificateRefusedSince: WallTime?
        var nextAttemptAt: WallTime?
        var attempts: Int64 = 0
    }

    var version = ""
    var uptime: Duration?
    var state = ""
    var isClockSynchronised = true
    var connectionType = ""
    var networkSince: WallTime?
    var intake: [String: Int64] = [:]
    var destinations: [Destination] = []
    var queueDirectory: String?
    var queueBytes: Int64 = 0
    var queueLimitBytes: Int64 = 0
    var queueBoundBytes: Int64 = 0
    /// `max-size`, `file-system`, `files` or `quota`.
    var queueBound: String?
    var keptFreeBytes: Int64 = 0
    /// The lanes that are refused for want of room.
    var refusedLanes: [String] = []
    var room: Duration?
    /// Events by the log's name.
    var logs: [(name: String, events: Int64)] = []
    var storageState = ""
    var lastSyncMicroseconds: Int64?
    var storageDetail: String?
    /// False where `GET /readyz` says that no events are taken.
    var isReady = true
    /// State by category.
    var consent: [(category: String, state: String)] = []
    /// Why categories are on hold that an operator had set; nil where none is for that.
    var consentDetail: String?

    /// Reads the body of `GET /v1/status`; nil where it is not a JSON object.
    init?(_ body: [UInt8]) {
        guard let json = try? JSONValue(parsing: body), json.members != nil else { return nil }
        version = json.text("version") ?? "?"
        uptime = json.seconds("uptime_s")
        state = json.text("state") ?? "?"
        isClockSynchronised = json["clock_synced"]?.boolean ?? true
        connectionType = json["network"]?.text("connection_type") ?? "unknown"
        networkSince = json["network"]?.time("since")
        intake = json["intake"]?.counts ?? [:]
        destinations = (json["destinations"]?.array ?? []).map { Destination($0) }
        let queue = json["queue"]
        queueDirectory = queue?["directory"]?.string
        queueBytes = queue?["bytes"]?.integer ?? 0
        queueLimitBytes = queue?["limit_bytes"]?.integer ?? 0
        queueBoundBytes = queue?["bound_bytes"]?.integer ?? queueLimitBytes
        queueBound = queue?.text("bound")
        keptFreeBytes = queue?["kept_free_bytes"]?.integer ?? 0
        refusedLanes = (queue?["refused"]?.array ?? []).compactMap { $0.string?.printable }
        room = queue?.seconds("room_s")
        logs = (queue?["logs"]?.members ?? []).map { ($0.name.printable, $0.value["events"]?.integer ?? 0) }
        storageState = json["storage"]?.text("state") ?? "?"
        lastSyncMicroseconds = json["storage"]?["last_sync_us"]?.integer
        storageDetail = json["storage"]?.text("detail")
        consent = (json["consent"]?.members ?? []).map { ($0.name.printable, $0.value.string?.printable ?? "?") }
        consentDetail = json.text("consent_detail")
    }
}

extension StatusDocument.Destination {
    init(_ json: JSONValue) {
        name = json.text("name") ?? "?"
        state = json.text("state") ?? "?"
        reason = json.text("reason") ?? "none"
        reasonDetail = json.text("reason_detail").map { String($0.prefix(300)) }
        since = json.time("since")
        flags = (json["flags"]?.array ?? []).compactMap { $0.string?.printable }
        ledger = json["ledger"]?.counts ?? [:]
        oldestAge = json.seconds("oldest_age_s")
        lastSuccess = json.time("last_success")
        nextAttemptAt = json.time("next_attempt_at")
        attempts = json["attempts"]?.integer ?? 0
        fileFault = json.text("file_fault")
        token = json.text("token")
        certificateRefusedSince = json.time("certificate_refused_since")
        guard let error = json["last_error"], error.members != nil else { return }
        let parts = [
            error["status"]?.integer.map { "answer \($0)" }, error.text("detail").flatMap { $0.isEmpty ? nil : $0 },
            error.text("location").map { "location \($0)" },
        ]
        lastError = String(parts.compactMap { $0 }.joined(separator: ": ").prefix(300))
        lastErrorAt = error.time("at")
    }
}

extension JSONValue {
    /// The text of a member, printable.
    fileprivate func text(_ name: String) -> String? { self[name]?.string?.printable }

    fileprivate func time(_ name: String) -> WallTime? { self[name]?.string.flatMap { WallTime(rfc3339: $0) } }

    fileprivate func seconds(_ name: String) -> Duration? {
        guard let value = self[name]?.double, value >= 0, value < 1e15 else { return nil }
        return .milliseconds(Int64(value * 1_000))
    }

    /// The members that are whole numbers.
    fileprivate var counts: [String: Int64] {
        var result: [String: Int64] = [:]
        for member in members ?? [] { result[member.name] = member.value.integer }
        return result
    }
}

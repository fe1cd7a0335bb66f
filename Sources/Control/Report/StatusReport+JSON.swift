internal import Bytes
internal import JSON
internal import Time

extension StatusReport {
    /// The report as the body of `GET /v1/status`, with a line feed at its end.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("version", version)
        writer.member("uptime_s", uptime.components.seconds)
        writer.member("state", state.rawValue)
        writer.member("clock_synced", isClockSynchronised)
        writer.object("network") { writer in
            writer.member("connection_type", network.connectionType)
            writer.member("since", network.since)
        }
        writer.object("intake") { writer in
            writer.member("accepted", intake.accepted)
            writer.member("refused", intake.refused)
            writer.member("duplicates", intake.duplicates)
            writer.member("connections", intake.connections)
        }
        writer.name("destinations")
        writer.beginArray()
        for destination in destinations { destination.write(to: &writer) }
        writer.endArray()
        writer.object("queue") { writer in queue.writeMembers(to: &writer) }
        writer.object("storage") { writer in
            writer.member("state", storage.state.rawValue)
            writer.member("last_sync_us", storage.lastSync.map { $0.nanoseconds / 1_000 })
            writer.member("detail", storage.detail)
        }
        writer.object("consent") { writer in
            for (category, state) in consent.sorted(by: { $0.key < $1.key }) { writer.member(category, state) }
        }
        writer.member("consent_detail", consentDetail)
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}

extension QueueReport {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("directory", directory)
        writer.member("bytes", bytes)
        writer.member("limit_bytes", limitBytes)
        writer.member("bound_bytes", boundBytes)
        writer.member("bound", bound.rawValue)
        writer.member("kept_free_bytes", keptFreeBytes)
        writer.name("refused")
        writer.beginArray()
        for lane in refused { writer.string(lane) }
        writer.endArray()
        writer.object("logs") { writer in
            for (name, log) in logs.sorted(by: { $0.key < $1.key }) {
                writer.object(name) { writer in
                    writer.member("events", log.events)
                    writer.member("bytes", log.bytes)
                }
            }
        }
        writer.member("room_s", room?.components.seconds)
    }
}

extension DestinationReport {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", name)
        writer.member("state", state)
        writer.member("reason", reason)
        writer.member("reason_detail", reasonDetail)
        writer.member("since", since)
        writer.name("flags")
        writer.beginArray()
        for flag in flags { writer.string(flag.rawValue) }
        writer.endArray()
        writer.object("ledger") { writer in ledger.writeMembers(to: &writer) }
        writer.member("oldest_age_s", oldestAge.map { Double($0.milliseconds) / 1_000 })
        writer.member("last_success", lastSuccess)
        if let lastError {
            writer.object("last_error") { writer in
                writer.member("status", lastError.status)
                writer.member("detail", lastError.detail)
                writer.member("location", lastError.location)
                writer.member("at", lastError.at)
            }
        } else {
            writer.name("last_error")
            writer.null()
        }
        writer.member("file_fault", fileFault)
        writer.member("token", token.rawValue)
        writer.member("certificate_refused_since", certificateRefusedSince)
        writer.member("next_attempt_at", nextAttemptAt)
        writer.member("attempts", attempts)
        writer.endObject()
    }
}

extension DestinationReport.Ledger {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("accepted", accepted)
        writer.member("delivered", delivered)
        writer.member("queued", queued)
        writer.member("dead", dead)
        writer.member("expired", expired)
        writer.member("evicted", evicted)
        writer.member("purged", purged)
        writer.member("quarantined", quarantined)
    }
}

extension JSONWriter {
    fileprivate mutating func object(_ name: String, _ members: (inout JSONWriter) -> Void) {
        self.name(name)
        beginObject()
        members(&self)
        endObject()
    }

    fileprivate mutating func member(_ name: String, _ time: WallTime?) {
        member(name, time.map { $0.rfc3339.text })
    }
}

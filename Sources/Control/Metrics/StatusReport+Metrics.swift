internal import Time

extension StatusReport {
    /// The report as Prometheus text; a value that is not known has no sample.
    package var metrics: [UInt8] {
        var writer = MetricsWriter()
        appendProcess(to: &writer)
        appendNetwork(to: &writer)
        appendIntake(to: &writer)
        appendQueue(to: &writer)
        appendStorage(to: &writer)
        appendLedgers(to: &writer)
        appendReachability(to: &writer)
        appendTimes(to: &writer)
        return writer.text
    }

    private func appendProcess(to writer: inout MetricsWriter) {
        writer.begin("up_info", .gauge, "The program that answers; always 1.")
        writer.sample(true, ["version": version])
        writer.begin("uptime_seconds", .gauge, "Time since the process started.")
        writer.sample(uptime.inSeconds)
        writer.begin("loop_longest_turn_seconds", .gauge, "The longest time that the loop was busy at once.")
        writer.sample(longestTurn.inSeconds)
        writer.begin("state", .gauge, "1 for the state the daemon is in, 0 for the others.")
        for other in State.allCases { writer.sample(other == state, ["state": other.rawValue]) }
        writer.begin("clock_synchronized", .gauge, "1 while the wall clock is synchronised.")
        writer.sample(isClockSynchronised)
        writer.begin("network_info", .gauge, "The type of the machine's link; always 1.")
        writer.sample(true, ["connection_type": network.connectionType])
    }

    private func appendNetwork(to writer: inout MetricsWriter) {
        writer.begin("netlink_messages_total", .counter, "What the kernel announced of its network, by group.")
        for (group, count) in network.messages.sorted(by: { $0.key < $1.key }) {
            writer.sample(count, ["group": group])
        }
        writer.begin("netlink_overruns_total", .counter, "How often announcements of the kernel were lost.")
        writer.sample(network.overruns)
        writer.begin("path_evaluations_total", .counter, "How often the kernel was asked for the way to a destination.")
        writer.sample(network.evaluations)
    }

    private func appendIntake(to writer: inout MetricsWriter) {
        writer.begin("ingest_events_total", .counter, "Events that local programs posted, by what came of them.")
        writer.sample(intake.accepted, ["result": "accepted"])
        writer.sample(intake.refused, ["result": "refused"])
        writer.sample(intake.duplicates, ["result": "duplicate"])
        writer.begin("ingest_connections", .gauge, "Local programs connected to the events socket.")
        writer.sample(UInt64(intake.connections))
    }

    private func appendQueue(to writer: inout MetricsWriter) {
        writer.begin("queue_bytes", .gauge, "Bytes that the queue takes on disk.")
        writer.sample(queue.bytes)
        writer.begin("queue_limit_bytes", .gauge, "Bytes that the queue may take on disk (MaxSize=).")
        writer.sample(queue.limitBytes)
        writer.begin("queue_bound_bytes", .gauge, "The same, or less where the file system has not the room.")
        writer.sample(queue.boundBytes)
        if let room = queue.room {
            writer.begin("queue_room_seconds", .gauge, "How long there is room at the rate of the last day.")
            writer.sample(room.inSeconds)
        }
        let logs = queue.logs.sorted { $0.key < $1.key }
        writer.begin("log_events", .gauge, "Events stored in a log.")
        for (name, log) in logs { writer.sample(log.events, ["log": name]) }
        writer.begin("log_bytes", .gauge, "Bytes that a log takes on disk.")
        for (name, log) in logs { writer.sample(log.bytes, ["log": name]) }
        writer.begin("consent_state", .gauge, "The state of a consent category; always 1.")
        for (category, state) in consent.sorted(by: { $0.key < $1.key }) {
            writer.sample(true, ["category": category, "state": state])
        }
    }

    private func appendStorage(to writer: inout MetricsWriter) {
        writer.begin("storage_state", .gauge, "1 for the state the storage is in, 0 for the others.")
        for other in StorageReport.State.allCases {
            writer.sample(other == storage.state, ["state": other.rawValue])
        }
        if let lastSync = storage.lastSync {
            writer.begin("storage_last_sync_seconds", .gauge, "How long the last sync to disk took.")
            writer.sample(lastSync.inSeconds)
        }
    }

    private func appendLedgers(to writer: inout MetricsWriter) {
        writer.begin("accepted_events_total", .counter, "Events owed to a destination since its first.")
        for one in destinations { writer.sample(one.ledger.accepted, ["destination": one.name]) }
        writer.begin("delivered_events_total", .counter, "Events that a destination has taken.")
        for one in destinations { writer.sample(one.ledger.delivered, ["destination": one.name]) }
        writer.begin("queue_events", .gauge, "Events that wait for a destination.")
        for one in destinations { writer.sample(one.ledger.queued, ["destination": one.name]) }
        writer.begin("dead_letters", .gauge, "Events that a destination will never take.")
        for one in destinations { writer.sample(one.ledger.dead, ["destination": one.name]) }
        writer.begin("dropped_events_total", .counter, "Events that will not reach a destination, by why.")
        for one in destinations {
            writer.sample(one.ledger.expired, ["destination": one.name, "reason": "expired"])
            writer.sample(one.ledger.evicted, ["destination": one.name, "reason": "evicted"])
            writer.sample(one.ledger.purged, ["destination": one.name, "reason": "purged"])
            writer.sample(one.ledger.quarantined, ["destination": one.name, "reason": "quarantined"])
        }
    }

    private func appendReachability(to writer: inout MetricsWriter) {
        writer.begin("destination_reachable", .gauge, "1 while a destination has proved that it answers.")
        for one in destinations { writer.sample(one.state == "reachable", ["destination": one.name]) }
        writer.begin("destination_info", .gauge, "The state of a destination and its reason; always 1.")
        for one in destinations {
            writer.sample(true, ["destination": one.name, "state": one.state, "reason": one.reason])
        }
        for flag in DestinationReport.Flag.allCases {
            writer.begin("destination_\(flag.rawValue)", .gauge, "1 while a destination is \(flag.rawValue).")
            for one in destinations { writer.sample(one.flags.contains(flag), ["destination": one.name]) }
        }
        writer.begin("checks_total", .counter, "Checks whether a destination answers, by what came of them.")
        for one in destinations {
            for (result, count) in one.checks.sorted(by: { $0.key < $1.key }) {
                writer.sample(count, ["destination": one.name, "result": result])
            }
        }
        writer.begin("destination_state_seconds_total", .counter, "Time that a destination has spent in a state.")
        for one in destinations {
            for (state, span) in one.stateSpans.sorted(by: { $0.key < $1.key }) {
                writer.sample(span.inSeconds, ["destination": one.name, "state": state])
            }
        }
        writer.begin("destination_attempts", .gauge, "Tries of a destination since its last success.")
        for one in destinations { writer.sample(one.attempts, ["destination": one.name]) }
    }

    private func appendTimes(to writer: inout MetricsWriter) {
        writer.begin("queue_oldest_age_seconds", .gauge, "Age of the oldest event that waits for a destination.")
        for one in destinations {
            if let age = one.oldestAge { writer.sample(age.inSeconds, ["destination": one.name]) }
        }
        writer.begin("last_success_timestamp_seconds", .gauge, "When a destination last took events.")
        for one in destinations {
            if let time = one.lastSuccess { writer.sample(time.seconds, ["destination": one.name]) }
        }
        writer.begin("next_attempt_timestamp_seconds", .gauge, "When a destination is tried next.")
        for one in destinations {
            if let time = one.nextAttemptAt { writer.sample(time.seconds, ["destination": one.name]) }
        }
    }
}

extension WallTime {
    /// Seconds since 1970.
    fileprivate var seconds: Double { Double(milliseconds) / 1_000 }
}

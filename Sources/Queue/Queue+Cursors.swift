extension Queue {
    /// Counts what became of a destination's events up to and with `sequence`; written, not synced.
    ///
    /// What was settled before stays as it was: a lower `sequence` changes nothing. `counts` must add up to the events
    /// from the cursor to `sequence`, none of which may be newer than the log. The destination must have a cursor.
    package func settle(destination: String, log: LogName, through sequence: UInt64, _ counts: Ledger) {
        let key = CursorKey(destination: destination, log: log)
        guard var cursor = cursors[key] else { preconditionFailure("\(destination) has no cursor in \(log.text)") }
        guard sequence >= cursor.state.low else { return }
        precondition(counts.total == sequence + 1 - cursor.state.low, "the counts do not add up to the events")
        precondition(sequence <= logs[log]?.last ?? 0, "events were settled that do not exist")
        cursor.state.low = sequence + 1
        cursor.state.ledger += counts
        cursor.slot = cursorFile.write(slot(key, cursor.state), at: cursor.slot)
        cursors[key] = cursor
    }

    /// Takes the destinations of a new configuration; a new one starts at the oldest event kept of each log.
    ///
    /// One that is named no more keeps its cursors, and with them its events.
    package func use(destinations: [String]) {
        self.destinations = destinations
        for log in logsInOrder where log.last > 0 { _ = addCursors(to: log) }
    }

    /// Where a destination stands in a log; nil while the log has no event, and for an unknown destination.
    package func cursor(destination: String, log: LogName) -> CursorState? {
        cursors[CursorKey(destination: destination, log: log)]?.state
    }

    /// The logs that exist, urgent before normal before bulk before the consent categories.
    package var logNames: [LogName] {
        let existing = logs.values.filter { $0.last > 0 }.map(\.name)
        let others = existing.filter { !LogName.lanes.contains($0) }.sorted { $0.text < $1.text }
        return LogName.lanes.filter(existing.contains) + others
    }

    /// Makes all cursors durable; true to `cursorsFailing` while that fails.
    package func synchroniseCursors() throws(QueueError) {
        try completeStart()
        do throws(QueueError) {
            try cursorFile.synchronise()
        } catch {
            remember(error)
            throw error
        }
        cursorsDirtySince = nil
    }

    /// True while what was settled last could not be made durable.
    package var cursorsFailing: Bool { cursorFile.failure != nil }
}

extension Queue {
    /// Counts what became of a destination's events; written, not synced.
    ///
    /// The runs are in order and without gaps, none is newer than the log, and the destination has a cursor, above
    /// which they do not begin. What lies below the cursor stays as it was settled before.
    package func settle(destination: String, log: LogName, _ dispositions: [Disposition]) {
        let key = CursorKey(destination: destination, log: log)
        guard var cursor = cursors[key] else { preconditionFailure("\(destination) has no cursor in \(log.text)") }
        let before = cursor.state.low
        for disposition in countingLetters(dispositions, key) where disposition.sequences.upperBound >= cursor.state.low
        {
            let first = cursor.state.low
            precondition(disposition.sequences.lowerBound <= first, "events between those settled were left out")
            cursor.state.low = disposition.sequences.upperBound + 1
            cursor.state.ledger.count(cursor.state.low - first, as: disposition.kind)
        }
        guard cursor.state.low > before else { return }
        precondition(cursor.state.low - 1 <= logs[log]?.last ?? 0, "events were settled that do not exist")
        cursor.slot = cursorFile.write(slot(key, cursor.state), at: cursor.slot)
        cursors[key] = cursor
        headsChanged = true
        #if DEBUG
            assertLedgerNowAndThen()
        #endif
    }

    /// The cursors that moved by themselves since the last call, in the order in which they did.
    package func takeMoves() -> [CursorMove] {
        defer { moves.removeAll() }
        return moves
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

/// What came of an order to forget or rename a destination.
package enum RemovalOutcome: Sendable, Equatable {
    /// It is done; so many events and dead letters were given up.
    case done(givenUp: UInt64)
    /// The configuration names it.
    case isConfigured
    /// Nothing is kept for one of that name.
    case isUnknown
    /// It has dead letters, which keep its name.
    case hasLetters
    /// The new name is configured, or something is kept for it.
    case isTaken
}

/// Destinations that the configuration names no more.
extension Queue {
    /// True where the configuration names a destination, or something is kept for it.
    package func knows(destination: String) -> Bool { isConfigured(destination) || keeps(destination) }

    /// True where the configuration names a destination.
    package func isConfigured(_ destination: String) -> Bool { destinations.contains(destination) }

    private func keeps(_ destination: String) -> Bool {
        cursors.keys.contains { $0.destination == destination }
            || !letterKeys(of: destination).isEmpty
    }

    /// Gives up all that is kept for a destination, durably: the events it had still to get, and its dead letters.
    ///
    /// - Throws: `failed`; then its events are kept, but letters may be gone, and a crash before the next sync may yet
    ///   have it forgotten.
    package func forget(destination: String) throws(QueueError) -> RemovalOutcome {
        guard !isConfigured(destination) else { return .isConfigured }
        guard keeps(destination) else { return .isUnknown }
        try completeStart()
        let keys = cursors.keys.filter { $0.destination == destination }
        let names = deadLetters.keys.filter { $0.destination == destination }
            .flatMap { deadLetters.names(of: $0) { _, _ in true } }
        let queued = keys.reduce(0) { $0 + (logs[$1.log]?.last ?? 0) + 1 - (cursors[$1]?.state.low ?? 1) }
        // One that its cursor has not passed is among the events.
        let letters = deadLetters(of: destination, limit: .max).count { letter in
            cursor(destination: destination, log: letter.name.log).map { letter.name.sequence < $0.low } ?? true
        }
        try remove(names)
        let before = cursors
        for key in keys {
            if let cursor = cursors.removeValue(forKey: key) { cursorFile.free(cursor.slot) }
            heads[key] = nil
            lookedUpAges[key] = nil
        }
        headsChanged = true
        try synchroniseCursors(orGoBackTo: before, of: destination)
        return .done(givenUp: queued + UInt64(letters))
    }

    /// Has a destination of which nothing is known yet take over where another stands; durable when it returns.
    ///
    /// - Throws: `failed`; then nothing has changed, but a crash before the next sync may yet have it renamed.
    package func rename(destination: String, to name: String) throws(QueueError) -> RemovalOutcome {
        guard !isConfigured(destination) else { return .isConfigured }
        guard keeps(destination) else { return .isUnknown }
        guard !knows(destination: name) else { return .isTaken }
        guard letterKeys(of: destination).isEmpty else { return .hasLetters }
        try completeStart()
        let before = cursors
        for (key, cursor) in cursors where key.destination == destination {
            let new = CursorKey(destination: name, log: key.log)
            cursors[key] = nil
            cursorFile.free(cursor.slot)
            cursors[new] = Cursor(state: cursor.state, slot: cursorFile.write(slot(new, cursor.state), at: nil))
            heads[key] = nil
            lookedUpAges[key] = nil
        }
        headsChanged = true
        try synchroniseCursors(orGoBackTo: before, of: destination)
        return .done(givenUp: 0)
    }

    /// Makes the cursors durable; where that fails, a destination has those again that it had.
    private func synchroniseCursors(
        orGoBackTo before: [CursorKey: Cursor], of destination: String
    ) throws(QueueError) {
        do throws(QueueError) {
            try synchroniseCursors()
        } catch {
            for (key, cursor) in cursors where before[key] == nil {
                cursorFile.free(cursor.slot)
                cursors[key] = nil
            }
            for (key, cursor) in before where key.destination == destination {
                let slot = cursorFile.write(slot(key, cursor.state), at: nil)
                cursors[key] = Cursor(state: cursor.state, slot: slot)
            }
            throw error
        }
    }
}

/// Destinations that the configuration names no more.
extension Queue {
    /// Gives up all that is kept for a destination, durably, and returns how many events it had still to get.
    ///
    /// - Throws: `failed`; then a start may find it again.
    package func forget(destination: String) throws(QueueError) -> UInt64 {
        try completeStart()
        let keys = cursors.keys.filter { $0.destination == destination }
        let letters = deadLetters.keys.filter { $0.destination == destination }
        _ = try remove(letters.flatMap { deadLetters.names(of: $0) { _, _ in true } }.sorted())
        let queued = keys.reduce(0) { $0 + (logs[$1.log]?.last ?? 0) + 1 - (cursors[$1]?.state.low ?? 1) }
        for key in keys {
            if let cursor = cursors.removeValue(forKey: key) { cursorFile.free(cursor.slot) }
            heads[key] = nil
            lookedUpAges[key] = nil
        }
        headsChanged = true
        try synchroniseCursors()
        return queued
    }

    /// Has a destination of which nothing is known yet take over where another stands; durable when it returns.
    ///
    /// That other has no dead letters, and the new one no cursor.
    ///
    /// - Throws: `failed`; then a start may find the old name.
    package func rename(destination: String, to name: String) throws(QueueError) {
        try completeStart()
        precondition(!cursors.keys.contains { $0.destination == name })
        for (key, cursor) in cursors where key.destination == destination {
            let new = CursorKey(destination: name, log: key.log)
            cursors[key] = nil
            cursorFile.free(cursor.slot)
            cursors[new] = Cursor(state: cursor.state, slot: cursorFile.write(slot(new, cursor.state), at: nil))
            heads[key] = nil
            lookedUpAges[key] = nil
        }
        headsChanged = true
        try synchroniseCursors()
    }
}

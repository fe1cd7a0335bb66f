internal import Posix

extension Queue {
    /// What status shows.
    package var snapshot: QueueSnapshot {
        let names = logNames
        let condition = condition
        let space = try? space()
        let described = names.compactMap { logs[$0] }.map { describe($0) }
        let known = cursors.sorted { ($0.key.destination, $0.key.log.text) < ($1.key.destination, $1.key.log.text) }
        return QueueSnapshot(
            logs: described, cursors: known.map { describe($0.key, $0.value.state) }, bytes: bytesOnDisk,
            limit: options.maximumBytes, bound: space?.bound ?? options.maximumBytes, storage: condition.storage,
            lastError: condition.error, cursorsFailing: cursorsFailing, lastSyncMicroseconds: lastSyncMicroseconds,
            writtenBytes: writtenBytes, keptFree: space.map { min($0.available, $0.keep) } ?? 0,
            refused: condition.refused, unwritable: unwritable)
    }

    /// How the storage does now, the error that says so, and the lanes that are refused for want of room, the least
    /// urgent first.
    package var condition: (storage: QueueSnapshot.Storage, error: QueueError?, refused: [LogName]) {
        var space: Space?
        let refused = LogName.lanes.reversed().filter { refusal(of: $0, &space) != nil }
        // The most urgent one that is refused says most.
        let shortage = refusal(of: .urgent, &space) ?? refusal(of: .normal, &space)
        guard let error = commitFailure ?? shortage ?? cursorFile.failure else { return (.good, nil, refused) }
        return (error.isLackOfRoom ? .full : .failing, error, refused)
    }

    private var unwritable: QueueError? {
        var space: Space?
        if let commitFailure, !commitFailure.isLackOfRoom { return commitFailure }
        return refusal(of: .urgent, &space)
    }

    private func describe(_ log: LogState) -> QueueSnapshot.Log {
        let low = cursors.lazy.filter { $0.key.log == log.name }.map(\.value.state.low).min()
        return QueueSnapshot.Log(
            name: log.name, accepted: log.last, oldest: log.oldest, events: log.last + 1 - (low ?? log.oldest),
            bytes: UInt64(log.bytes))
    }

    private func describe(_ key: CursorKey, _ state: CursorState) -> QueueSnapshot.Cursor {
        // Letters that are sent again stay in the slot as dead until they are delivered.
        let retried = min(retried(key), state.ledger.dead)
        var ledger = state.ledger
        ledger.dead -= retried
        return QueueSnapshot.Cursor(
            destination: key.destination, log: key.log, low: state.low, origin: state.origin, ledger: ledger,
            queued: (logs[key.log]?.last ?? 0) + 1 - state.low + retried,
            isRemoved: !destinations.contains(key.destination))
    }
}

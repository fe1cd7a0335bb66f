package import Time

/// The durable queue: logs of events, and how far each destination has come in each.
///
/// Confined to one thread; every call may block on the disk.
package final class Queue {
    /// What the start found.
    package let recovery: RecoveryReport

    private init() {
        recovery = RecoveryReport()
    }

    /// Takes the directory, makes it a queue where it is empty, and recovers what it holds.
    ///
    /// Reads names, cursors and the newest segment of each log. `age` is the age clock in milliseconds (rule 16),
    /// `randomBits` gives the epochs. What fails without ending the start is in `recovery.failures`.
    ///
    /// - Throws: only what `endsStart`.
    package static func open(
        _ storage: any Storage, options: QueueOptions, destinations: [String], at wall: WallTime,
        randomBits: @escaping () -> UInt64
    ) throws(QueueError) -> Queue {
        preconditionFailure("not written yet")
    }

    /// Makes batches durable: gives sequence numbers, writes each to its log, syncs each log once.
    ///
    /// All batches of one log succeed or fail together; a log that is full or fails does not fail the others. The
    /// batches come back empty, with their storage.
    package func commit(_ batches: inout [OpenBatch], at wall: WallTime, age: UInt64) -> [CommitOutcome] {
        preconditionFailure("not written yet")
    }

    /// The events of a log from a sequence number on, about `limit` bytes of them; nil where none is durable yet.
    package func read(_ log: LogName, from sequence: UInt64, limit: Int) throws(QueueError) -> Chunk? {
        preconditionFailure("not written yet")
    }

    /// Counts what became of a destination's events up to and with `sequence`; written, not synced.
    ///
    /// What was settled before stays as it was; `counts` must add up to the events from the cursor to `sequence`.
    package func settle(destination: String, log: LogName, through sequence: UInt64, _ counts: Ledger) {
        preconditionFailure("not written yet")
    }

    /// Where a destination stands in a log.
    package func cursor(destination: String, log: LogName) -> CursorState {
        preconditionFailure("not written yet")
    }

    /// Makes all cursors durable.
    package func synchroniseCursors() throws(QueueError) {
        preconditionFailure("not written yet")
    }

    /// Does one slice of background work and returns when it wants to be called again: at or before `now`, there is
    /// more to do; nil, nothing is due until the next commit or settlement.
    package func housekeep(at now: Instant) -> Instant? {
        preconditionFailure("not written yet")
    }

    /// What status shows.
    package var snapshot: QueueSnapshot {
        preconditionFailure("not written yet")
    }

    /// Makes the cursors durable and gives up the lock.
    package func close() {
        preconditionFailure("not written yet")
    }
}

/// What became of one batch.
package enum CommitOutcome: Sendable, Equatable {
    /// It is durable: its events have the sequence numbers from `first` on and ids with `epoch`.
    case committed(log: LogName, epoch: UInt64, first: UInt64, count: Int)
    /// It is not, and its events are not accepted.
    case refused(QueueError)
}

/// How far a destination has come in a log.
package struct CursorState: Sendable, Equatable {
    /// Every lower sequence number is settled.
    package let low: UInt64
    /// Events before the first that this destination is accountable for; `low - 1 - origin == ledger.total`.
    package let origin: UInt64
    package let ledger: Ledger
}

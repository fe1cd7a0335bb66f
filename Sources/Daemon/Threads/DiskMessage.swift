internal import Configuration
internal import Control
internal import Delivery
internal import Gates
internal import HTTPTransport
internal import Queue

/// What the loop's thread asks of the disk's.
enum DiskRequest: Sendable {
    case commit(ordinal: UInt64, BatchHandover)
    case read(destination: String, id: UInt64, LogName, from: UInt64, limitBytes: Int)
    case settle(destination: String, LogName, [Disposition])
    /// Keep a refused event as a dead letter.
    case bury(destination: String, id: UInt64, LogName, sequence: UInt64, EventRefusal)
    /// Read the next dead letter that is to be sent again.
    case letter(destination: String, id: UInt64, Passage)
    /// Count a letter that was sent again as delivered.
    case resolve(DeadLetterName)
    /// An operator's order; answered by `carriedOut` with the same number.
    case order(number: UInt64, OperatorOrder)
    /// Keep states of consent, by category.
    case keepConsent([String: ConsentState])
    /// These are the destinations from now on.
    case destinations([String])
    /// The wall clock was set, or has become synchronised, or is no more.
    case clockSet
    /// Tell how the queue stands, after all that was asked before.
    case snapshot
    /// Sync the cursors and end.
    case stop
}

/// What the disk's thread tells the loop's.
enum DiskReply: Sendable {
    case opened(RecoveryReport, QueueSnapshot)
    case openFailed(QueueError)
    case committed(ordinal: UInt64, [CommitOutcome], BatchHandover)
    case chunk(destination: String, id: UInt64, Chunk?)
    case readFailed(destination: String, id: UInt64, QueueError)
    case buried(destination: String, id: UInt64, BurialOutcome)
    case letter(destination: String, id: UInt64, LetterFound)
    case carriedOut(number: UInt64, OperatorAnswer)
    /// Writes or syncs failed, which another try may have made good.
    case failed([QueueError])
    /// A read found damage that no earlier one had.
    case damaged([RecoveryReport.Damage])
    /// Files were found that only have a segment's name.
    case strays([String])
    /// Logs that the start could not read were read.
    case late([LateLog])
    /// Cursors moved by themselves.
    case moved([CursorMove])
    case snapshot(QueueSnapshot)
    /// The answer to a question for how the queue stands; for each destination how long its oldest event has waited.
    case answer(QueueSnapshot, oldest: [String: Duration])
    /// The destinations are taken; the snapshot has their cursors.
    case destinations(QueueSnapshot)
    case stopped
}

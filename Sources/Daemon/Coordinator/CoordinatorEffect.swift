package import Bytes
package import Control
package import Delivery
package import Gates
package import Intake
package import Queue
package import SystemdService

/// What the coordinator wants done by the rim, in order.
package enum CoordinatorEffect: Sendable {
    /// Make batches durable; answered by `committed`.
    case commit(ordinal: UInt64, BatchHandover)
    /// Read for delivery; answered by `chunk` or `readFailed`.
    case read(destination: String, id: UInt64, LogName, from: UInt64, limitBytes: Int)
    /// Move a cursor.
    case settle(destination: String, LogName, [Disposition])
    /// Keep a refused event as a dead letter; answered by `buried`.
    case bury(destination: String, id: UInt64, LogName, sequence: UInt64, EventRefusal)
    /// Read the next dead letter of a destination that is to be sent again; answered by `letter`.
    case readLetter(destination: String, id: UInt64, Passage)
    /// A dead letter that was sent again is delivered.
    case resolveLetter(DeadLetterName)
    /// Keep states of consent, by category.
    case keepConsent([String: ConsentState])
    /// Purge all events of a category, and try again until that is done.
    case purge(category: String)
    /// Refuse the events of a log that wait for the next commit.
    case refuseOpen(LogName, Refusal)
    /// Read a destination's token anew; answered by `token`.
    case readToken(destination: String)
    /// Ask the kernel for the way to these addresses; answered by `path`.
    case inquire(destination: String, [IPAddress])
    /// Ask the kernel for a default route; answered by `defaultRoute`.
    case inquireDefault(destination: String)
    /// Look a name up; answered by `resolved`.
    case resolve(host: String)
    /// Send a request; answered by `answered`.
    case send(OutgoingRequest, [IPAddress])
    /// End a request without an answer.
    case cancel(request: UInt64)
    /// Close a destination's idle connections.
    case dropConnections(destination: String)
    /// Answer the clients that wait for a commit; one outcome a batch.
    case answer(ordinal: UInt64, [BatchOutcome])
    /// Tell the operator.
    case notice(Notice)
    /// Tell those who watch.
    case change(Change)
    /// What status shows has changed.
    case statusChanged
}

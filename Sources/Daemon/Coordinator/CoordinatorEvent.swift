package import Bytes
package import Delivery
package import Queue
package import Reachability
package import Time

/// What the coordinator is told by the rim.
package enum CoordinatorEvent: Sendable {
    /// A commit came back: what became of each batch, and the emptied batches.
    case committed(ordinal: UInt64, [CommitOutcome], BatchHandover)
    /// What a destination's read found; nil where nothing durable is there.
    case chunk(destination: String, read: UInt64, Chunk?)
    /// A destination's read failed.
    case readFailed(destination: String, read: UInt64)
    /// A log that the start could not read was read.
    case late(LateLog)
    /// A refused event is set apart, or not.
    case buried(destination: String, id: UInt64, BurialOutcome)
    /// What the reading of a dead letter found.
    case letter(destination: String, read: UInt64, LetterFound)
    /// Operators had dead letters sent again, or dropped some.
    case lettersChanged
    /// A destination's token was read anew; nil where it cannot be used, for `fault`.
    case token(destination: String, [UInt8]?, fault: String?)
    /// Cursors moved by themselves.
    case moved([CursorMove])
    /// Something about consent for a category, or a purge.
    case consent(ConsentEvent)
    /// Cursors can, or cannot, be made durable.
    case cursors(areDurable: Bool)
    /// A request ended.
    case answered(request: UInt64, TransportOutcome)
    /// Something about links, addresses, routes or rules may have changed; what announced it.
    case networkChanged(by: String)
    /// The kernel was asked for the way to a destination's addresses.
    case path(destination: String, PathVerdict)
    /// The kernel was asked for a default route, as no address of the destination is known.
    case defaultRoute(destination: String, PathVerdict)
    /// A lookup ended: the addresses known now, and why it failed if it did.
    case resolved(host: String, [IPAddress], failure: String?)
    /// The machine slept.
    case resumed
    /// `deadline` has come.
    case timer
    /// An operator wants a destination tried at once.
    case flush(destination: String)
    /// An operator stops a destination, for good or until then.
    case pause(destination: String, until: Instant?)
    /// An operator lets a destination go on.
    case resume(destination: String)
    /// A probe had an answer of the destination's own.
    case probeAnswered(destination: String)
    /// The configuration was read anew; what it leaves as it is is tried again.
    case reloaded
    /// No more events are taken, nothing more is sent.
    case stop
}

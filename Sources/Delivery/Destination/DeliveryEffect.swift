package import Bytes
package import Queue
package import Reachability
package import Time

/// What a `Destination` wants done, in order.
package enum DeliveryEffect: Sendable {
    /// Read a log from a sequence number on, about so many bytes; answered by `DeliveryEvent.chunk`.
    case read(id: UInt64, LogName, from: UInt64, limitBytes: Int)
    /// Send a request; answered by `DeliveryEvent.answered`.
    case send(OutgoingRequest)
    /// End a request, whose outcome no longer matters.
    case cancel(request: UInt64)
    /// This became of events of a log, in order; some may have been disposed of before.
    case settle(LogName, [Disposition])
    /// Keep an event of a log, which its destination refused, as a dead letter; answered by
    /// `DeliveryEvent.buried`.
    case bury(id: UInt64, LogName, sequence: UInt64, EventRefusal)
    /// Read the next dead letter that is to be sent again and may leave; answered by `DeliveryEvent.letter`.
    case readLetter(id: UInt64, Passage)
    /// A dead letter that was sent again is delivered.
    case resolve(LogName, sequence: UInt64)
    /// Read the token anew; answered by `DeliveryEvent.token`.
    case readToken
    /// To reachability: the destination itself answered, at this address where it is known.
    case proved(by: IPAddress?)
    /// To reachability: no answer came.
    case failed(StateReason, detail: String)
    /// To reachability: something else answered in its place.
    case portal(detail: String)
    /// To reachability: the check that was asked for is over; follows its result, if there is one.
    case checkEnded
    /// A gate closed or opened: events accepted from now on have another accept context.
    case gatesChanged
    /// A fact for the journal.
    case notice(DeliveryNotice)
}

/// A fact about a destination for the journal.
package enum DeliveryNotice: Sendable, Equatable {
    /// It answered so that a person is needed; everything is kept and tried again slowly.
    case held(StateReason, status: Int?, detail: String, location: String?)
    /// It will never take an event, which is kept as a dead letter.
    case buried(EventID, EventRefusal)
    /// It asked for time.
    case throttled(status: Int, until: Instant)
    /// It takes events again after a hold or a throttling.
    case released
    /// All that had waited is delivered.
    case flushed(events: UInt64, over: Duration)
}

package import Queue
package import Reachability
package import Time

/// What a `Destination` is told.
package enum DeliveryEvent: Sendable {
    /// Events of a log up to `newest` are durable.
    case available(LogName, newest: UInt64)
    /// A log that the start could not read was read: what it has waited through a restart.
    case late(LogPosition)
    /// The chunk that `DeliveryEffect.read` asked for; nil where nothing durable is there.
    case chunk(read: UInt64, Chunk?)
    /// The log could not be read.
    case readFailed(read: UInt64)
    /// The cursor moved by itself.
    case moved(CursorMove)
    /// A request ended; ignored where it was cancelled.
    case answered(request: UInt64, TransportOutcome)
    /// What came of `DeliveryEffect.bury`.
    case buried(id: UInt64, BurialOutcome)
    /// What `DeliveryEffect.readLetter` found.
    case letter(read: UInt64, LetterFound)
    /// Operators had dead letters sent again, or dropped some.
    case lettersChanged
    /// The token as it stands in its file; nil where that cannot be used, for `fault`.
    case token([UInt8]?, fault: String? = nil)
    /// `Destination.deadline` has come.
    case timer
    /// Reachability asks to find out now whether the destination answers; one `checkEnded` answers it.
    case checkDue
    /// Checks are turned off, and a path is there: try what is queued.
    case attempt
    /// What the connectivity gate says to events accepted from now on.
    case connectivity(Connectivity)
    /// Nothing more may be sent; with `givingUpRequest` what is in flight can no longer get through.
    case pathLost(givingUpRequest: Bool)
    /// The path is as it was before it was lost.
    case pathBack
    /// Sending may begin.
    case reachable(Outage)
    /// The link that the route to the destination leaves by.
    case connectionType(ConnectionType)
    /// The logs of which nothing may be sent for want of consent.
    case withheld(Set<LogName>)
    /// The event of that number, of some log, is being purged.
    case purging(sequence: UInt64)
    /// Whether cursors can be made durable.
    case storage(isDurable: Bool)
    /// An operator stops delivery, for good or until then; what is in flight may end.
    case pause(until: Instant?)
    /// An operator lets delivery go on, and ends every wait.
    case resume
    /// The configuration was read anew, and this destination's settings are as they were.
    case reloaded
    /// An operator ends every wait.
    case flush
    /// Nothing more is sent; what is in flight may end.
    case stop
    /// Another takes its place: what is in hand is given up, and nothing is settled any more.
    case replaced
}

/// A dead letter that is to be sent again.
package enum LetterFound: Sendable {
    /// Its event, alone, and how often it was sent.
    case letter(Chunk, attempts: Int)
    /// There is none.
    case none
    /// The disk fails.
    case failed
}

/// Whether an event that was refused is set apart.
package enum BurialOutcome: Sendable {
    /// It is a dead letter, durably; its id.
    case kept(EventID)
    /// It is not in the log any more.
    case gone
    /// There is no room for more letters.
    case full(detail: String)
    /// The disk fails.
    case failed(detail: String)

    /// What an error of `Queue.bury` comes to.
    package init(_ error: QueueError) {
        if error.keepsLettersOut {
            self = .full(detail: "\(error)")
        } else {
            self = .failed(detail: "\(error)")
        }
    }
}

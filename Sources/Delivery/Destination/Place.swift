internal import Queue
internal import Reachability
internal import Time

/// Room for one request in flight.
struct Place: Sendable {
    /// The batch that is in flight, or is to be tried again.
    var batch: Batch?
    /// The batch after it, never sent yet.
    var prepared: Batch?
    /// The request in flight, which carries `batch`.
    var request: UInt64?
    /// A batch of one event that was refused, while the event behind it tells whether all are.
    var aside: (batch: Batch, refusal: EventRefusal)?
    /// The burial in hand of the one event of `batch`, or of `aside`.
    var burial: (id: UInt64, refusal: EventRefusal, isOfAside: Bool)?

    /// True where nothing is in hand.
    var isFree: Bool { request == nil && burial == nil }
}

extension Place {
    /// The place for `urgent`.
    static let urgent = 0
    /// The place for everything else.
    static let rest = 1

    /// Which place takes a log.
    static func index(of log: LogName) -> Int { log == .urgent ? urgent : rest }
}

/// What allows to send.
enum Permission: Sendable {
    /// Nothing; only a check may be sent.
    case none
    /// A path, where checks are turned off.
    case unproved
    /// An answer of the destination.
    case proved
}

/// Where the check stands that reachability asked for.
enum Check: Equatable, Sendable {
    case none
    /// Asked for; waits for events to be read.
    case wanted
    /// That request will tell.
    case riding(UInt64)
}

/// How what waits is let go after an outage.
enum FlushStage: Equatable, Sendable {
    /// Without restraint.
    case open
    /// One batch, and nothing before its acknowledgement.
    case first
    /// That batch was acknowledged before reachability said how long the outage was.
    case firstDone
    /// Nothing before then.
    case spread(until: Instant)
    /// That time is over: one batch, and after its acknowledgement both places.
    case second
}

/// A wait that closes both places, and after which one request finds out whether it is over.
struct Wait: Sendable {
    enum Cause: Equatable, Sendable {
        case throttled
        case held(StateReason)
        /// The token was refused and is read anew.
        case reauthorising
        /// No answer, where checks are turned off.
        case unanswered
    }

    let cause: Cause
    var until: Instant
    /// The path was lost since it began.
    var isOnNewPath = false
    /// What the destination asked for by `Retry-After`, an hour at the most.
    var asked: Duration?
}

/// A delivery of what had waited, from the moment it could leave.
struct FlushRun: Sendable {
    let began: Instant
    /// It is over when each log is settled so far.
    let targets: [(log: LogName, newest: UInt64)]
    var events: UInt64 = 0
}

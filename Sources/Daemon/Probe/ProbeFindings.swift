internal import Bytes
internal import HTTPTransport
internal import Posix
internal import Reachability
internal import Time

/// What the kernel says of the way to an address.
struct KernelWay: Sendable {
    let address: IPAddress
    let verdict: PathVerdict
    /// What it answered, in words.
    let answer: String

    /// The way that there is.
    var candidate: Candidate? {
        if case .usable(let candidates) = verdict { candidates.first } else { nil }
    }

    /// Why there is none.
    var refusal: (reason: StateReason, detail: String)? {
        if case .none(let reason, let detail) = verdict { (reason, detail) } else { nil }
    }
}

/// What a probe has found so far.
struct ProbeFindings: Sendable {
    /// Where addresses are from; raw values are what users see.
    enum Source: String, Sendable {
        /// They stand in the configuration.
        case literal
        /// The system's resolver gave them just now.
        case lookup
        /// It gave them before, if ever; this time it failed.
        case kept
    }

    /// A connection to an address.
    struct Connection: Sendable {
        let address: IPAddress
        let began: Instant
        /// Nil until it has ended.
        var span: Duration?
        /// Nil where it connected.
        var error: Errno?

        var hasConnected: Bool { span != nil && error == nil }
    }

    var lookup: (source: Source, span: Duration?, failure: LookupError?)?
    /// The system's, as far as they are known.
    var nameServers: [IPAddress] = []
    /// Where there are none, the kernel is asked for a default route instead.
    var addresses: [IPAddress] = []
    var ways: [KernelWay] = []
    var connections: [Connection] = []
    var inspection: InspectionResult?
    /// How long it all took.
    var span = Duration.zero
}

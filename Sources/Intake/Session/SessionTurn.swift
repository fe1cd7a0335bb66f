internal import Queue
package import Time

/// What a session works with: where events go, the bounds, and where its answers are collected.
package struct SessionTurn {
    /// A session stops taking input while it has this many bytes of answers.
    static let outputBytes = 4_096

    let admission: Admission
    let limits: IntakeLimits
    /// When the events of this turn are accepted; nil while the wall clock is not synchronised.
    package var acceptedAt: WallTime?
    /// Answers to send.
    package var output: [UInt8] = []
    /// Lines and requests that were refused.
    package var refused: UInt64 = 0
    /// Events that were made durable.
    package var accepted: UInt64 = 0
    /// Events that were durable already when they came again.
    package var duplicates: UInt64 = 0
    /// The user whose connection it is.
    package var user: UInt32 = 0
    /// Where the events of a request stand; kept for its storage.
    var events: [FoundEvent] = []

    package init(admission: Admission, limits: IntakeLimits) {
        self.admission = admission
        self.limits = limits
    }
}

/// Why a session took no more of its input.
package enum SessionPause: Sendable {
    /// It has taken all that makes sense without more.
    case needsInput
    /// Too much waits for the next commit.
    case admissionFull
    /// Too many of its own answers wait for a commit.
    case answersFull
    /// Its answers must be sent first.
    case outputFull
    /// Its request repeats events that wait for their commit.
    case repeatWaits
}

extension SessionTurn {
    /// Why a session must not go on.
    func pause(answersFull: Bool) -> SessionPause? {
        if output.count >= Self.outputBytes { return .outputFull }
        if answersFull { return .answersFull }
        return admission.isFull ? .admissionFull : nil
    }

    /// The keys of the events found in the body of a request; empty where nothing names them.
    func keys(of request: EventRequest, _ body: Span<UInt8>) -> [DuplicateKey] {
        var keys: [DuplicateKey] = []
        for event in events {
            guard let identity = event.identity else { break }
            keys.append(admission.recent.names.key(of: identity, in: body, user: user))
        }
        guard keys.isEmpty, let idempotencyKey = request.idempotencyKey else { return keys }
        return admission.recent.names.keys(of: request, body, events: events.count, idempotencyKey, user: user)
    }
}

/// What became of the batches of one commit.
package struct Settlement {
    package let ordinal: UInt64
    /// By the numbers of admission; nil: not known yet.
    package let outcomes: [BatchOutcome?]

    package init(ordinal: UInt64, outcomes: [BatchOutcome?]) {
        self.ordinal = ordinal
        self.outcomes = outcomes
    }

    /// What became of an event; nil where this settlement does not say.
    package func outcome(of position: Position) -> BatchOutcome? {
        guard position.ordinal == ordinal, position.batch < outcomes.count else { return nil }
        return outcomes[position.batch]
    }
}

internal import Time

extension Notice {
    /// A destination's state changed; the states and the reason are the names that the status has.
    ///
    /// `reachable`, `verifying`, `portal` and the rest are kinds of their own; `events` are those that wait.
    package static func destinationChanged(
        _ destination: String, from previous: String, to state: String, reason: String, detail: String? = nil,
        events: UInt64? = nil
    ) -> Notice {
        let kind: NoticeKind
        switch state {
        case "reachable": kind = .destinationReachable
        case "verifying": kind = .destinationVerifying
        case "portal": kind = .destinationPortal
        default: kind = .destinationUnreachable
        }
        return Notice(
            kind,
            [
                .destination: destination, .previousState: previous, .state: state, .reason: reason,
                .detail: detail, .events: events.flatMap { $0 > 0 ? String($0) : nil },
            ])
    }

    package static func destinationHeld(_ destination: String, reason: String, detail: String? = nil) -> Notice {
        Notice(.destinationHeld, [.destination: destination, .reason: reason, .detail: detail])
    }

    package static func destinationReleased(_ destination: String, events: UInt64) -> Notice {
        Notice(.destinationReleased, [.destination: destination, .events: events > 0 ? String(events) : nil])
    }

    /// A destination asked for time with an answer of that status.
    package static func destinationThrottled(_ destination: String, status: Int, retryIn span: Duration) -> Notice {
        Notice(
            .destinationThrottled, [.destination: destination, .detail: String(status), .seconds: seconds(span)])
    }

    /// An event is a dead letter, by an answer of that status, which began with `answer`.
    package static func eventRefused(
        _ destination: String, event id: String, status: Int, answer: String
    ) -> Notice {
        Notice(
            .eventRefused, [.destination: destination, .event: id, .status: String(status), .detail: answer])
    }

    package static func destinationRemoved(_ destination: String, events: UInt64) -> Notice {
        Notice(.destinationRemoved, [.destination: destination, .events: String(events)])
    }

    /// An operator has paused a destination, for a while or until it is resumed.
    package static func destinationPaused(_ destination: String, for span: Duration?) -> Notice {
        Notice(
            .destinationPaused,
            [.destination: destination, .seconds: span.map(seconds), .detail: span?.spanText])
    }

    /// A pause of a destination is over with its time.
    package static func destinationPauseEnded(_ destination: String) -> Notice {
        Notice(.destinationPauseEnded, [.destination: destination])
    }

    package static func destinationResumed(_ destination: String) -> Notice {
        Notice(.destinationResumed, [.destination: destination])
    }

    package static func destinationForgotten(_ destination: String, events: UInt64) -> Notice {
        Notice(.destinationForgotten, [.destination: destination, .events: String(events)])
    }

    package static func destinationRenamed(_ destination: String, to name: String) -> Notice {
        Notice(.destinationRenamed, [.destination: destination, .detail: name])
    }

    package static func lettersRetried(_ count: UInt64) -> Notice {
        Notice(.lettersRetried, [.events: String(count)])
    }

    package static func lettersDropped(_ count: UInt64) -> Notice {
        Notice(.lettersDropped, [.events: String(count)])
    }

    package static func flushFinished(_ destination: String, events: UInt64, took span: Duration) -> Notice {
        Notice(
            .flushFinished, [.destination: destination, .events: String(events), .seconds: seconds(span)])
    }

    /// The connection type changed; both are the names that `network_connection_type` has.
    package static func networkChanged(from previous: String, to type: String) -> Notice {
        Notice(.networkChanged, [.previousConnectionType: previous, .connectionType: type])
    }

    package static func netlinkUnavailable(_ detail: String) -> Notice {
        Notice(.netlinkUnavailable, [.detail: detail])
    }
}

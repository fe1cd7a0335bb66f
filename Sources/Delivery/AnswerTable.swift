package import Reachability

/// What an answer means for the batch that was sent.
package enum Verdict: Hashable, Sendable {
    /// The destination has it.
    case delivered
    /// Something else answered in its place.
    case portal
    /// As no answer.
    case connectivity(StateReason)
    /// It asks for time; it is still reachable.
    case wait
    /// The same batch is in hand there already; later again.
    case again
    /// One of the events is refused: to be found by bisection.
    case bisect
    /// The body is too long.
    case halve
    /// The token is refused.
    case reauthorise
    /// A person is needed.
    case hold(StateReason)
}

/// The table of answers, of INTERFACE.
package enum AnswerTable {
    /// The verdict on a status, 100 to 599.
    ///
    /// `isFromDestination` is false over plain http to another host where the expected field is missing.
    package static func verdict(status: Int, isFromDestination: Bool) -> Verdict {
        guard isFromDestination else { return .portal }
        switch status {
        case 200...299: return .delivered
        case 408, 425, 429: return .wait
        case 400, 415, 422: return .bisect
        case 401: return .reauthorise
        case 403: return .hold(.unauthorized)
        case 404, 410: return .hold(.notFound)
        case 407: return .hold(.proxy)
        case 409: return .again
        case 413: return .halve
        case 300...399: return .hold(.redirect)
        case 400...499, 501, 505: return .hold(.rejected)
        case 511: return .connectivity(.portal)
        case 500...599: return .wait
        default: return .connectivity(.reset)
        }
    }

    /// What a check without events found: nil where the destination has proved that it is reached.
    package static func refusal(ofCheck status: Int, isVerifiedPeer: Bool) -> StateReason? {
        switch status {
        case 300...399 where isVerifiedPeer: .redirect
        case 407 where isVerifiedPeer: .proxy
        case 511 where isVerifiedPeer: .portal
        default: nil
        }
    }
}

import Delivery
import Reachability
import Testing

struct AnswerTableTests {
    /// Every status a destination can answer with, as INTERFACE's table has it.
    private static func expected(_ status: Int) -> Verdict {
        let single: [Int: Verdict] = [
            400: .bisect, 415: .bisect, 422: .bisect, 401: .reauthorise, 403: .hold(.unauthorized),
            404: .hold(.notFound), 410: .hold(.notFound), 407: .hold(.proxy), 408: .wait, 425: .wait, 429: .wait,
            409: .again, 413: .halve, 501: .hold(.rejected), 505: .hold(.rejected), 511: .connectivity(.portal),
        ]
        if let verdict = single[status] { return verdict }
        switch status / 100 {
        case 1: return .connectivity(.reset)
        case 2: return .delivered
        case 3: return .hold(.redirect)
        case 4: return .hold(.rejected)
        default: return .wait
        }
    }

    @Test func everyStatusOfTheDestinationHasItsVerdict() {
        for status in 100...599 {
            let verdict = AnswerTable.verdict(status: status, isFromDestination: true)
            #expect(verdict == Self.expected(status), "status \(status)")
        }
    }

    @Test func whateverElseAnswersIsAPortal() {
        for status in 100...599 {
            #expect(AnswerTable.verdict(status: status, isFromDestination: false) == .portal, "status \(status)")
        }
    }

    @Test func checksAreRefusedByRedirectsProxiesAndPortalsOnly() {
        for status in 100...599 {
            let expected: StateReason? =
                switch status {
                case 300...399: .redirect
                case 407: .proxy
                case 511: .portal
                default: nil
                }
            #expect(AnswerTable.refusal(ofCheck: status, isVerifiedPeer: true) == expected, "status \(status)")
            #expect(AnswerTable.refusal(ofCheck: status, isVerifiedPeer: false) == nil, "status \(status)")
        }
    }
}

internal import Bytes
internal import Delivery
internal import HTTPTransport
internal import Reachability

/// What a probe found, for operators: as JSON, with what to do next.
final class ProbeReport {
    let findings: ProbeFindings
    let settings: DestinationSettings
    let standing: ProbeStanding
    /// Which file of certificates cannot be used, and why.
    let credentialsFault: String?
    /// What the answer says; nil where none came.
    let verdict: ProbeVerdict?
    /// A text of others with the destination's secrets hidden.
    private let hidden: ([UInt8]) -> String

    init(
        _ findings: ProbeFindings, of settings: DestinationSettings, _ standing: ProbeStanding,
        credentialsFault: String? = nil, verdict: ProbeVerdict? = nil, hidden: @escaping ([UInt8]) -> String
    ) {
        self.findings = findings
        self.settings = settings
        self.standing = standing
        self.credentialsFault = credentialsFault
        self.verdict = verdict
        self.hidden = hidden
    }

    /// The answer that came.
    var answer: TransportAnswer? {
        if case .answer(let answer) = findings.inspection?.outcome { answer } else { nil }
    }

    /// Why none came.
    var failure: TransportFailure? {
        if case .failed(let failure) = findings.inspection?.outcome { failure } else { nil }
    }

    /// What was asked for, without its query.
    var url: String { shown(Array((settings.checkURL ?? settings.url).text.shownURL.utf8)) }

    /// Where the answer sends to.
    var location: String? { answer?.headers.first(named: "Location").map { shown(Array($0.utf8)) } }

    /// A text of others: its first line, at most 200 characters of it, without secrets.
    func shown(_ text: [UInt8]) -> String { String(hidden(Array(text.prefix { $0 != 10 && $0 != 13 })).prefix(200)) }
}

/// How a destination stands when its probe ends.
struct ProbeStanding {
    var state = DestinationState.unknown
    var reason = StateReason.none
    var isPaused = false
    var isHeld = false
    /// Which lanes wait for another network, in words.
    var policy: String?
}

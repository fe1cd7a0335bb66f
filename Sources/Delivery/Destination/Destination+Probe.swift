internal import Bytes
package import Reachability

/// What an answer to an operator's probe says of a destination.
package enum ProbeVerdict: Hashable, Sendable {
    /// It is the destination's own, and would prove that it is reached.
    case proof
    /// Something else answered in its place.
    case portal
    /// It is the destination's own, or a proxy's, and proves nothing.
    case refusal(StateReason)
}

/// What an operator's probe needs of delivery, which it leaves as it is.
extension Destination {
    /// The request of a check that takes `limit` at the most; its number is none of the destination's own.
    package func probe(within limit: Duration) -> OutgoingRequest {
        let check = requests.check(id: 0)
        return OutgoingRequest(
            id: check.id, destination: check.destination, method: check.method, url: check.url, proxy: check.proxy,
            headers: check.headers, body: check.body, gzipLevel: nil,
            connectTimeout: min(check.connectTimeout, limit), timeout: min(check.timeout, limit), isCheck: true)
    }

    /// What an answer to that request says.
    package func verdict(onProbe answer: TransportAnswer) -> ProbeVerdict {
        guard requests.isFromDestination(answer) else { return .portal }
        let refusal = AnswerTable.refusal(ofCheck: answer.status, isVerifiedPeer: answer.isVerifiedPeer)
        return refusal.map { .refusal($0) } ?? .proof
    }

    /// A text of an answer without the secrets of the destination.
    package func hidingSecrets(in text: [UInt8]) -> String { requests.secrets.hidden(in: text).text }
}

package import Bytes
package import Reachability

/// How a request ended.
package enum TransportOutcome: Sendable, Equatable {
    /// A complete answer; a 407 of a proxy to CONNECT is one, too.
    case answer(TransportAnswer)
    /// No answer, or one cut short.
    case failed(TransportFailure)
}

/// An HTTP answer.
package struct TransportAnswer: Sendable, Equatable {
    /// 100 to 599.
    package let status: Int
    package let headers: [HeaderField]
    /// At most the first 2 KiB.
    package let body: [UInt8]
    /// True over verified TLS, to a loopback address and to a Unix socket.
    package let isVerifiedPeer: Bool
    /// The address that was connected to; nil where it is not known.
    package let peer: IPAddress?

    package init(
        status: Int, headers: [HeaderField] = [], body: [UInt8] = [], isVerifiedPeer: Bool, peer: IPAddress? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isVerifiedPeer = isVerifiedPeer
        self.peer = peer
    }
}

/// Why no answer came.
package struct TransportFailure: Sendable, Equatable {
    /// Such as `dns`, `refused`, `timeout`, `reset`, `tls`, `proxy`, `noRoute`.
    package let reason: StateReason
    /// A sentence for people, at most 2 KiB.
    package let detail: String
    /// The certificate that was shown is not to be trusted, for what no wait will mend.
    package let isCertificateRefused: Bool

    package init(reason: StateReason, detail: String, isCertificateRefused: Bool = false) {
        self.reason = reason
        self.detail = detail
        self.isCertificateRefused = isCertificateRefused
    }
}

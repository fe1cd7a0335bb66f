internal import CCurl
package import Time

/// What the server of a TLS connection showed, and what is thought of it.
package struct ServerShown: Sendable {
    /// Whether a chain of signatures leads to whom is trusted, at this time.
    package enum Trust: Sendable {
        case good, expired, notYetValid
        /// Signed by nobody who is trusted.
        case unknownIssuer
        /// A signature is wrong, or the certificate is not one for servers.
        case other
    }

    /// A certificate; names as in RFC 2253, texts cut at 511 bytes.
    package struct Certificate: Sendable {
        package let subject: String
        package let issuer: String
        /// The hosts that it is for, with commas between; empty where it names none.
        package let names: String
        package let begins: WallTime
        package let ends: WallTime

        package init(subject: String, issuer: String, names: String, begins: WallTime, ends: WallTime) {
            self.subject = subject
            self.issuer = issuer
            self.names = names
            self.begins = begins
            self.ends = ends
        }
    }

    /// `TLSv1.3`.
    package let protocolName: String
    /// The server's own first; at least one, at most 8.
    package let certificates: [Certificate]
    /// The first is for the host that was asked for.
    package let matches: Bool
    package let trust: Trust

    package init(protocolName: String, certificates: [Certificate], matches: Bool, trust: Trust) {
        self.protocolName = protocolName
        self.certificates = certificates
        self.matches = matches
        self.trust = trust
    }
}

/// The place where connections keep what their server showed.
@safe
final class ServerWatch {
    let raw: OpaquePointer

    /// For connections to that host.
    init(host: String) {
        guard let raw = unsafe ccurl_seen_make(host) else { preconditionFailure("no memory") }
        unsafe self.raw = raw
    }

    deinit { unsafe ccurl_seen_free(raw) }

    /// What the last server showed; nil where none showed a certificate.
    var shown: ServerShown? {
        let count = unsafe ccurl_seen_count(raw)
        guard count > 0 else { return nil }
        let trust: ServerShown.Trust =
            switch unsafe ccurl_seen_trust(raw) {
            case CCURL_TRUST_GOOD: .good
            case CCURL_TRUST_EXPIRED: .expired
            case CCURL_TRUST_NOT_YET: .notYetValid
            case CCURL_TRUST_UNKNOWN: .unknownIssuer
            default: .other
            }
        return ServerShown(
            protocolName: unsafe String(cString: ccurl_seen_protocol(raw)),
            certificates: (0..<count).map { index in
                ServerShown.Certificate(
                    subject: unsafe String(cString: ccurl_seen_subject(raw, index)),
                    issuer: unsafe String(cString: ccurl_seen_issuer(raw, index)),
                    names: unsafe String(cString: ccurl_seen_names(raw, index)),
                    begins: WallTime(milliseconds: unsafe ccurl_seen_begins(raw, index) * 1_000),
                    ends: WallTime(milliseconds: unsafe ccurl_seen_ends(raw, index) * 1_000))
            },
            matches: unsafe ccurl_seen_matches(raw) == 1, trust: trust)
    }
}

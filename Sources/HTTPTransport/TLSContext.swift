internal import CCurl

/// Whom to trust for a destination, and what to show it.
package struct TLSCredentials: Sendable {
    package let trust: TrustStore
    /// Nil: no certificate.
    package let identity: ClientIdentity?

    package init(trust: TrustStore, identity: ClientIdentity? = nil) {
        self.trust = trust
        self.identity = identity
    }
}

/// What the connections to one destination trust and show, and what they last refused.
@safe
final class TLSContext {
    private let raw: OpaquePointer
    private let watch: ServerWatch?

    /// `watch` gets what servers show.
    init(_ credentials: TLSCredentials, watch: ServerWatch?) {
        self.watch = watch
        let made = unsafe ccurl_tls_make(credentials.trust.handle, credentials.identity?.handle, watch?.raw)
        guard let raw = unsafe made else { preconditionFailure("no memory") }
        unsafe self.raw = raw
    }

    deinit { unsafe ccurl_tls_free(raw) }

    /// Has a transfer trust and show this and nothing else.
    func apply(to easy: EasyHandle) { easy.check(unsafe ccurl_set_tls(easy.raw, raw)) }

    /// Lets so many bytes come from now on, before the connection that brings more is ended.
    func allow(_ bytes: Int) { unsafe ccurl_tls_allow(raw, bytes) }

    /// True where more came than was last allowed.
    var isFlooded: Bool { unsafe ccurl_tls_is_flooded(raw) != 0 }

    /// Problem, subject, issuer and dates of the certificate refused last, nil where none was; forgets it.
    func takeProblem() -> String? {
        let text = unsafe String(cString: ccurl_tls_take_problem(raw))
        return text.isEmpty ? nil : text
    }
}

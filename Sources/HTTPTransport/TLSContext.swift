internal import CCurl

/// What the connections to one destination trust, and what they last refused.
@safe
final class TLSContext {
    private let raw: OpaquePointer

    init(_ trust: TrustStore) {
        guard let raw = unsafe ccurl_tls_make(trust.handle) else { preconditionFailure("no memory") }
        unsafe self.raw = raw
    }

    deinit { unsafe ccurl_tls_free(raw) }

    /// Has a transfer trust this and nothing else.
    func apply(to easy: EasyHandle) { easy.check(unsafe ccurl_set_tls(easy.raw, raw)) }

    /// Problem, subject, issuer and dates of the certificate refused last, nil where none was; forgets it.
    func takeProblem() -> String? {
        let text = unsafe String(cString: ccurl_tls_take_problem(raw))
        return text.isEmpty ? nil : text
    }
}

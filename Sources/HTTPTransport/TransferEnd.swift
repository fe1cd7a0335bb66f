internal import CCurl
internal import Delivery
internal import Posix
internal import Reachability

/// How libcurl says that a transfer ended without an answer.
struct TransferEnd {
    let code: CURLcode
    /// What a proxy said to CONNECT; 0 where none was asked.
    let proxyStatus: Int
    /// The last errno of a socket call; 0 where there was none.
    let systemError: Int32
    /// The errno with which a socket could not be made; 0 where each could.
    let socketFailure: Int32
    /// libcurl's own words; empty where it has none.
    let text: String
    /// What is known of a certificate that was refused.
    let certificate: String?
    /// OpenSSL's verdict on it, as X509_verify_cert(3) numbers them.
    let verdict: Int
    /// Whether this machine's clock is synchronised.
    let isClockRight: Bool

    /// The same in the daemon's words; that a proxy wants to know us is an answer, for a person.
    var outcome: TransportOutcome {
        switch proxyStatus {
        case 407: .answer(TransportAnswer(status: 407, isVerifiedPeer: true))
        case 1..<200, 300...: .failed(TransportFailure(reason: .proxy, detail: "proxy \(proxyStatus)"))
        default: .failed(failure)
        }
    }

    var failure: TransportFailure {
        if code == CURLE_COULDNT_CONNECT, socketFailure != 0 { return .noDescriptor(Errno(code: socketFailure)) }
        var detail = text.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : text
        if let certificate { detail += " (\(certificate))" }
        return TransportFailure(reason: reason, detail: detail, isCertificateRefused: isCertificateRefused)
    }

    /// A wrong clock makes a certificate look expired, and one that is not valid yet will be.
    private var isCertificateRefused: Bool {
        guard code == CURLE_PEER_FAILED_VERIFICATION else { return false }
        switch ccurl_trust_of(verdict) {
        case CCURL_TRUST_NOT_YET: return false
        case CCURL_TRUST_EXPIRED: return isClockRight
        default: return true
        }
    }

    private var reason: StateReason {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: .dns
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_COULDNT_CONNECT: connectReason
        // Elsewhere the errno may be that of an address tried before.
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR: systemReason ?? .reset
        case CURLE_SSL_CONNECT_ERROR where systemReason == .reset: .reset
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_INITFAILED,
            CURLE_SSL_CLIENTCERT:
            .tls
        default: .reset
        }
    }

    private var connectReason: StateReason {
        switch Errno(code: systemError) {
        case .access, .permission: .prohibited
        case .invalid: .blackhole
        case .addressNotAvailable: .address
        default: systemReason ?? .refused
        }
    }

    private var systemReason: StateReason? {
        switch Errno(code: systemError) {
        case .timedOut: .timeout
        case .networkUnreachable, .hostUnreachable: .noRoute
        case .connectionReset, .brokenPipe: .reset
        default: nil
        }
    }
}

extension TransportFailure {
    /// This machine has no socket for a connection; the other end is not to blame.
    static func noDescriptor(_ error: Errno) -> TransportFailure {
        TransportFailure(reason: .address, detail: "this machine has no socket left for a connection: \(error)")
    }
}

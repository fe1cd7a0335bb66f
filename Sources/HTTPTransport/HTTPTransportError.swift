package import Posix

/// What keeps requests from being made at all.
package enum HTTPTransportError: Error, Equatable, Sendable {
    /// This libcurl uses another TLS library; `libcurl4-gnutls-dev` in place of `libcurl4-openssl-dev` does that.
    case tlsLibrary(String)
    /// This libcurl is older than 7.87, or built without Unix sockets.
    case unsuitable(version: String)
    /// libcurl did not start; its error code.
    case start(code: Int)
    /// A text that holds no certificate in PEM, or a malformed one after so many good ones.
    case certificates(good: Int)
    /// A text that begins with no certificate in PEM, or holds a malformed one.
    case clientCertificate
    /// A text that holds no key in PEM, or a malformed or an encrypted one.
    case clientKey
    /// A key that is not the certificate's.
    case clientPair
    /// A file of certificates could not be read.
    case unreadable(path: String, errno: Errno)
}

extension HTTPTransportError: CustomStringConvertible {
    /// What the operator reads.
    package var description: String {
        switch self {
        case .tlsLibrary(let library):
            "libcurl uses \(library) instead of OpenSSL; install libcurl4 in place of libcurl3-gnutls"
        case .unsuitable(let version): "libcurl \(version) is too old, or cannot use Unix sockets; it takes 7.87"
        case .start(let code): "libcurl does not start: its error \(code)"
        case .certificates(good: 0): "no certificate in PEM is in it"
        case .certificates(let good): "malformed after certificate \(good)"
        case .clientCertificate: "no certificate in PEM is in it, or one is malformed"
        case .clientKey: "no key in PEM is in it, or it is malformed, or takes a passphrase"
        case .clientPair: "the key is not the certificate's"
        case .unreadable(_, let errno): "\(errno)"
        }
    }
}

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
    /// A file of certificates could not be read.
    case unreadable(path: String, errno: Errno)
}

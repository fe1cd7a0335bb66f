internal import Bytes

/// A checked `https:`, `http:` or `http+unix:` URL (RFC 3986).
package struct ServerURL: Sendable, Equatable {
    /// How the server is reached.
    package enum Scheme: String, Sendable, CaseIterable {
        case https
        case http
        case unix = "http+unix"
    }

    /// As written.
    package let text: String
    package let scheme: Scheme
    /// A name or an address, in lower case and without brackets; empty for a Unix socket.
    package let host: String
    /// 1 to 65,535; 0 for a Unix socket.
    package let port: Int
    /// The path and query to ask for, at least `/`.
    package let target: String
    /// The socket's absolute path.
    package let socketPath: String?

    /// True where plain http cannot leave this machine: localhost, 127.0.0.0/8, ::1, or a Unix socket.
    package var isLocal: Bool {
        if scheme == .unix || host == "localhost" || host.hasSuffix(".localhost") { return true }
        return IPAddress(text: host)?.isLoopback ?? false
    }
}

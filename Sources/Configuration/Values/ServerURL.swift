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

extension ServerURL {
    /// Reads a URL; throws where it is none of ours, or holds what does not belong there, and quotes nothing of it, as
    /// that may be a secret.
    init(parsing text: String) throws(BadValue) {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw BadValue("a URL holds no blanks and only ASCII: write others as %XX" + comment(after: text))
        }
        guard text.utf8.count <= 2_048 else { throw BadValue("the URL is longer than 2048 bytes") }
        let schemes = "https://, http:// or http+unix://"
        guard let scheme = Scheme.allCases.first(where: { text.lowercased().hasPrefix($0.rawValue + "://") }) else {
            throw BadValue("a URL to send to begins with \(schemes)")
        }
        let begin = scheme.rawValue.count + 3
        let rest = text.dropFirst(begin)
        let authority = rest.prefix { !"/?#".contains($0) }
        guard !authority.isEmpty else { throw BadValue("a host is missing", at: begin) }
        let target = rest.dropFirst(authority.count)
        if let mark = target.firstIndex(of: "#") {
            throw BadValue("a URL to send to has no '#'", at: begin + text.distance(from: rest.startIndex, to: mark))
        }
        guard !authority.contains("@") else {
            throw BadValue("no user or password in a URL: use Header= or TokenFile=", at: begin)
        }
        self.text = text
        self.scheme = scheme
        self.target = target.hasPrefix("/") ? String(target) : "/" + target
        guard scheme != .unix else {
            host = ""
            port = 0
            socketPath = try Self.socketPath(authority, at: begin)
            return
        }
        socketPath = nil
        let (name, number) = try Self.hostAndPort(authority, at: begin)
        host = name.lowercased()
        port = number ?? (scheme == .https ? 443 : 80)
    }

    private static func socketPath(_ authority: Substring, at begin: Int) throws(BadValue) -> String {
        guard let path = percentDecoded(authority.utf8), !path.contains(0) else {
            throw BadValue("'%' is not followed by two hexadecimal digits of a character", at: begin)
        }
        guard let text = String(validating: path, as: UTF8.self), text.hasPrefix("/"), path.count <= 107 else {
            throw BadValue(
                "the socket is an absolute path of at most 107 bytes with %2F for '/', "
                    + "such as http+unix://%2Frun%2Fx.sock/path", at: begin)
        }
        return text
    }

    private static func hostAndPort(
        _ authority: Substring, at begin: Int
    ) throws(BadValue) -> (host: Substring, port: Int?) {
        var host = authority
        var rest = Substring()
        if authority.first == "[" {
            guard let end = authority.firstIndex(of: "]") else { throw BadValue("']' is missing", at: begin) }
            host = authority[authority.index(after: authority.startIndex)..<end]
            rest = authority[authority.index(after: end)...]
            guard let address = IPAddress(text: host), address.isIPv6 else {
                throw BadValue("an IPv6 address belongs between '[' and ']'", at: begin + 1)
            }
        } else {
            host = authority.prefix { $0 != ":" }
            rest = authority.dropFirst(host.count)
            try checkName(host, at: begin)
        }
        guard !rest.isEmpty else { return (host, nil) }
        let offset = begin + authority.count - rest.count
        guard rest.first == ":" else { throw BadValue("':' and a port belong behind ']'", at: offset) }
        let digits = rest.dropFirst()
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = Int(digits), (1...65_535).contains(port)
        else {
            throw BadValue("a port is a number from 1 to 65535", at: offset + 1)
        }
        return (host, port)
    }

    private static func checkName(_ host: Substring, at begin: Int) throws(BadValue) {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        if let last = labels.last, !last.isEmpty, last.allSatisfy({ $0.isASCII && $0.isNumber }) {
            guard IPAddress(text: host) != nil else { throw BadValue("the host is not an IPv4 address", at: begin) }
            return
        }
        let isName = (labels.last == "" ? labels.dropLast() : labels[...]).allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
        }
        guard isName, (1...253).contains(host.utf8.count) else {
            throw BadValue("this is not the name of a host", at: begin)
        }
    }
}

extension ValueKind where Value == ServerURL {
    /// A URL to send to; shown without its query.
    static let url = ValueKind({ text throws(BadValue) in try ServerURL(parsing: text) }, show: { $0.text.shownURL })
}

internal import Bytes

/// Where a destination is, taken apart.
package struct DestinationURL: Sendable, Hashable {
    /// How it is spoken to.
    package enum Scheme: String, Sendable {
        case http
        case https
        case unix = "http+unix"
    }

    package let scheme: Scheme
    /// A name or an address without brackets; for `http+unix` the path of the socket.
    package let host: String
    /// 1 to 65535; 0 for `http+unix`.
    package let port: UInt16
    /// The path and the query, beginning with `/`.
    package private(set) var path: String

    /// Takes a URL apart; throws `url` where it is none that can be used.
    package init(_ text: String) throws(DeliveryError) {
        let refusal = DeliveryError.url(text)
        guard text.utf8.allSatisfy({ (33...126).contains($0) }), !text.utf8.contains(UInt8(ascii: "#")) else {
            throw refusal
        }
        let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves[1].hasPrefix("//"), let scheme = Scheme(rawValue: halves[0].lowercased()) else {
            throw refusal
        }
        let rest = halves[1].dropFirst(2)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = rest[..<end]
        guard !authority.contains("@") else { throw refusal }
        self.scheme = scheme
        path = rest[end...].hasPrefix("/") ? String(rest[end...]) : "/" + rest[end...]
        if scheme == .unix {
            guard let path = percentDecoded(authority.utf8), path.first == UInt8(ascii: "/"), path.count <= 107,
                !path.contains(0), let socket = String(validating: path, as: UTF8.self)
            else { throw refusal }
            host = socket
            port = 0
        } else {
            guard let (host, port) = Self.hostAndPort(authority, scheme == .https ? 443 : 80) else { throw refusal }
            self.host = host
            self.port = port
        }
    }

    /// The host is the machine itself.
    package var isLocal: Bool {
        scheme == .unix || host == "localhost" || IPAddress(text: host)?.isLoopback ?? false
    }

    /// The whole URL again.
    package var text: String {
        switch scheme {
        case .unix: "http+unix://" + host.split(separator: "/").map { "%2F" + $0 }.joined() + path
        case .http, .https: "\(scheme.rawValue)://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)"
        }
    }

    /// The same with a segment at the end of its path, in place of one of these that may stand there.
    func appending(_ segment: String, insteadOf others: [String]) -> DestinationURL {
        let (whole, query) = path.firstIndex(of: "?").map { (path[..<$0], path[$0...]) } ?? (path[...], "")
        var segments = whole.split(separator: "/")
        if let last = segments.last, others.contains(String(last)) { segments.removeLast() }
        var result = self
        result.path = (segments + [Substring(segment)]).map { "/" + $0 }.joined() + query
        return result
    }

    private static func hostAndPort(_ authority: Substring, _ standard: UInt16) -> (String, UInt16)? {
        var host = authority
        var tail: Substring = ""
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else { return nil }
            host = authority[authority.index(after: authority.startIndex)..<close]
            tail = authority[authority.index(after: close)...]
            guard IPAddress(text: host)?.isIPv6 ?? false else { return nil }
        } else {
            let colon = authority.firstIndex(of: ":") ?? authority.endIndex
            host = authority[..<colon]
            tail = authority[colon...]
            let isName = host.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (97...122).contains(byte.lowercased) || [45, 46, 95].contains(byte)
            }
            guard (1...253).contains(host.utf8.count), isName else { return nil }
        }
        guard !tail.isEmpty else { return (host.lowercased(), standard) }
        guard tail.hasPrefix(":"), let port = UInt16(tail.dropFirst()), port > 0 else { return nil }
        return (host.lowercased(), port)
    }
}

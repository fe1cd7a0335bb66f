internal import Bytes

/// A checked `http://[USER:PASSWORD@]HOST[:PORT]` of a proxy.
package struct ProxyURL: Sendable, Equatable {
    /// A name or an address, in lower case and without brackets.
    package let host: String
    /// 1 to 65,535.
    package let port: UInt16
    /// Without percent-encoding, and without control characters.
    package let user: String?
    package let password: String?

    /// The same with user and password left out.
    var shown: String {
        "http://\(user == nil ? "" : "...@")\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}

extension ProxyURL {
    /// Reads a proxy's URL; what it throws names neither user nor password.
    init(parsing text: String) throws(BadValue) {
        let scheme = "http://"
        guard text.lowercased().hasPrefix(scheme) else { throw BadValue("a proxy's URL begins with http://") }
        let rest = text.dropFirst(scheme.count)
        let mark = rest.lastIndex(of: "@")
        let place = mark.map { rest[rest.index(after: $0)...] } ?? rest
        guard let url = try? ServerURL(parsing: scheme + place), url.target == "/" else {
            throw BadValue("a proxy is http://HOST:PORT or http://USER:PASSWORD@HOST:PORT", at: scheme.count)
        }
        host = url.host
        port = UInt16(url.port)
        guard let mark else {
            (user, password) = (nil, nil)
            return
        }
        let halves = rest[..<mark].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = halves.map { Self.text($0) }
        guard let name = decoded[0], !name.isEmpty, !name.contains(":"), decoded.allSatisfy({ $0 != nil }) else {
            throw BadValue(
                "USER:PASSWORD has %XX for ':' in the user and for '%', '@' and what is not ASCII",
                at: scheme.count)
        }
        user = name
        password = decoded.count > 1 ? decoded[1] : nil
    }

    /// Nil for what is not encoded as it should be, or holds control characters.
    private static func text(_ encoded: Substring) -> String? {
        guard let bytes = percentDecoded(encoded.utf8), let text = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        return text.unicodeScalars.contains { $0.properties.generalCategory == .control } ? nil : text
    }
}

extension ValueKind where Value == ProxyURL {
    /// A proxy; shown without user and password.
    static let proxy = ValueKind({ text throws(BadValue) in try ProxyURL(parsing: text) }, show: { $0.shown })
}

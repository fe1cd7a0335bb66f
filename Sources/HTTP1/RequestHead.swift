internal import Bytes

/// The request line and fields of a request.
package struct RequestHead: Sendable {
    /// The method, as written: `POST`.
    package let method: String
    /// The target's path, percent-encoded as it came.
    package let path: String
    /// What follows the target's question mark; nil where there is none.
    package let query: String?
    package let fields: HTTPFields
    /// 0 or 1.
    package let minorVersion: Int
    /// None where the request has no body.
    package let framing: BodyFraming

    /// False where the connection must close after the answer.
    package var keepsAlive: Bool {
        if fields.list("connection", has: "close") { return false }
        return minorVersion >= 1 || fields.list("connection", has: "keep-alive")
    }

    /// The client waits for `100 Continue` before it sends the body.
    package var expectsContinue: Bool { minorVersion >= 1 && fields.list("expect", has: "100-continue") }

    /// The query's parameters, decoded (`+` is a space); nil where an escape is malformed or the result no UTF-8.
    package func queryParameters() -> [(name: String, value: String)]? {
        guard let query, !query.isEmpty else { return [] }
        var parameters: [(name: String, value: String)] = []
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(halves[0]),
                let value = Self.decoded(halves.count == 2 ? halves[1] : "".utf8[...])
            else { return nil }
            parameters.append((name, value))
        }
        return parameters
    }

    private static func decoded(_ text: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard let value = Hexadecimal.value(Array(rest.prefix(2))), rest.count >= 2 else { return nil }
                bytes.append(UInt8(value))
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// Takes request heads off the front of growing input.
package struct RequestHeadParser: Sendable {
    private var parser = HeadParser()

    package init() {}

    /// The head that begins at `start`, and its count of bytes; nil until it is whole.
    ///
    /// Call it again with the same bytes and more behind them; what was searched is not searched again. After a head it
    /// is ready for the next. Empty lines before a request line must have been dropped.
    package mutating func parse(
        _ input: Span<UInt8>, from start: Int = 0
    ) throws(HTTPError) -> (head: RequestHead, count: Int)? {
        guard let count = try parser.end(in: input, from: start) else { return nil }
        var bytes: [UInt8] = []
        bytes.append(contentsOf: input.extracting(start..<start + count))
        return (try RequestHead(bytes), count)
    }
}

extension RequestHead {
    fileprivate init(_ bytes: [UInt8]) throws(HTTPError) {
        let (line, fields) = try HeadParser.lines(of: bytes)
        let span = bytes.span
        guard let firstSpace = span.firstIndex(of: 0x20, from: line.lowerBound), firstSpace < line.upperBound,
            let secondSpace = span.firstIndex(of: 0x20, from: firstSpace + 1), secondSpace < line.upperBound
        else { throw .malformed("the request line is not METHOD TARGET VERSION") }
        guard HeadParser.isToken(span, line.lowerBound..<firstSpace) else {
            throw .malformed("the method is no token")
        }
        minorVersion = try HeadParser.minorVersion(span, secondSpace + 1..<line.upperBound)
        method = Array(bytes[line.lowerBound..<firstSpace]).text
        (path, query) = try Self.target(bytes, firstSpace + 1..<secondSpace)
        guard fields.values("host").count <= 1 else { throw .malformed("more than one Host") }
        framing = try fields.statedFraming() ?? .none
        if minorVersion == 0, framing == .chunked { throw .malformed("a chunked body in HTTP/1.0") }
        self.fields = fields
    }

    /// Path and query of a target in origin form, absolute form, or `*`.
    private static func target(_ bytes: [UInt8], _ range: Range<Int>) throws(HTTPError) -> (String, String?) {
        guard !range.isEmpty, bytes[range].allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .malformed("the target holds something that is not visible ASCII")
        }
        var start = range.lowerBound
        if bytes[start] != UInt8(ascii: "/") {
            let text = Array(bytes[range]).text
            guard text != "*" else { return ("*", nil) }
            guard text.lowercased().hasPrefix("http://") else { throw .malformed("the target is no path") }
            guard let slash = bytes[(start + 7)..<range.upperBound].firstIndex(of: UInt8(ascii: "/")) else {
                return ("/", nil)
            }
            start = slash
        }
        guard let mark = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "?")) else {
            return (Array(bytes[start..<range.upperBound]).text, nil)
        }
        return (Array(bytes[start..<mark]).text, Array(bytes[(mark + 1)..<range.upperBound]).text)
    }
}

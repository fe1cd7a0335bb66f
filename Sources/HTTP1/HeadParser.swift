internal import Bytes

/// Finds and cuts up the head of a message (RFC 9112); shared by requests and responses.
///
/// A line ends with CR LF and nothing else; a field does not go on in the next line; control characters, white space
/// before the colon, and names that are no tokens are refused.
struct HeadParser: Sendable {
    /// How much of the input holds no end of a head.
    private var searched = 0

    /// The count of bytes of the head at `start` of the input, with its empty line; nil until it is whole.
    mutating func end(in input: Span<UInt8>, from start: Int) throws(HTTPError) -> Int? {
        var at = start + searched
        while let lineFeed = input.firstIndex(of: 0x0A, from: at) {
            guard lineFeed > start, input[lineFeed - 1] == 0x0D else {
                throw .malformed("a line of the head ends without a carriage return")
            }
            if lineFeed - start >= HTTPLimits.headBytes { throw .headTooLarge }
            if lineFeed >= start + 3, input[lineFeed - 2] == 0x0A {
                searched = 0
                return lineFeed + 1 - start
            }
            at = lineFeed + 1
        }
        searched = input.count - start
        if searched >= HTTPLimits.headBytes { throw .headTooLarge }
        return nil
    }

    /// The lines of a whole head, without their ends and without the empty one.
    static func lines(of head: [UInt8]) throws(HTTPError) -> (first: Range<Int>, fields: HTTPFields) {
        var fields = HTTPFields(bytes: head)
        let span = head.span
        var first: Range<Int>?
        var start = 0
        while start < head.count - 2 {
            guard let lineFeed = span.firstIndex(of: 0x0A, from: start) else { break }
            let line = start..<lineFeed - 1
            start = lineFeed + 1
            for at in line where isForbidden(span[at]) {
                throw .malformed("a control character in the head")
            }
            if first == nil {
                first = line
            } else {
                try field(line, of: span, into: &fields)
            }
        }
        guard let first else { throw .malformed("the head is empty") }
        return (first, fields)
    }

    private static func field(
        _ line: Range<Int>, of head: Span<UInt8>, into fields: inout HTTPFields
    ) throws(HTTPError) {
        guard fields.count < HTTPLimits.fields else { throw .headTooLarge }
        guard let colon = head.firstIndex(of: UInt8(ascii: ":"), from: line.lowerBound), colon < line.upperBound else {
            throw .malformed("a field without a colon")
        }
        let name = line.lowerBound..<colon
        guard isToken(head, name) else { throw .malformed("the name of a field is no token") }
        fields.append(name: name, value: fields.trimmed(colon + 1..<line.upperBound))
    }

    /// True for one or more characters of RFC 9110's token.
    static func isToken(_ head: Span<UInt8>, _ range: Range<Int>) -> Bool {
        for at in range where !isTokenCharacter(head[at]) { return false }
        return !range.isEmpty
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func isForbidden(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    /// The decimal number in `range`; nil for no digits, other characters, or more than 18 digits.
    static func decimal(_ head: Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard (1...18).contains(range.count) else { return nil }
        var value = 0
        for at in range {
            guard head[at] &- 0x30 < 10 else { return nil }
            value = value * 10 + Int(head[at] - 0x30)
        }
        return value
    }

    /// The minor version in `HTTP/1.x` at `range`.
    static func minorVersion(_ head: Span<UInt8>, _ range: Range<Int>) throws(HTTPError) -> Int {
        guard range.count == 8, head.equals("HTTP/", in: range.lowerBound..<range.lowerBound + 5),
            let major = decimal(head, range.lowerBound + 5..<range.lowerBound + 6),
            head[range.lowerBound + 6] == UInt8(ascii: "."),
            let minor = decimal(head, range.lowerBound + 7..<range.upperBound)
        else { throw .malformed("no HTTP version") }
        guard major == 1 else { throw .unsupportedVersion }
        return minor
    }
}

/// How the end of a body is known.
package enum BodyFraming: Hashable, Sendable {
    case none
    /// So many bytes follow.
    case length(Int)
    case chunked
    /// Until the end of the stream; in responses only.
    case untilClose
}

extension HTTPFields {
    /// The framing that `Content-Length` or `Transfer-Encoding` says; nil without either (RFC 9112, section 6.3).
    ///
    /// Both, two lengths, and `chunked` twice or not last are refused.
    func statedFraming() throws(HTTPError) -> BodyFraming? {
        let codings = ranges("transfer-encoding")
        let lengths = ranges("content-length")
        let span = bytes.span
        if let coding = codings.first {
            guard lengths.isEmpty else { throw .malformed("both Content-Length and Transfer-Encoding") }
            guard codings.count == 1, span.equalsIgnoringCase("chunked", in: coding) else {
                throw .unsupportedTransferCoding
            }
            return .chunked
        }
        guard let length = lengths.first else { return nil }
        guard lengths.count == 1 else { throw .malformed("more than one Content-Length") }
        guard let count = HeadParser.decimal(span, length) else { throw .malformed("Content-Length is no number") }
        return .length(count)
    }
}

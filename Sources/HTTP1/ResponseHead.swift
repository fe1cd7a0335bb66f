internal import Bytes

/// The status line and fields of a response.
package struct ResponseHead: Sendable {
    /// 100 to 599.
    package let status: Int
    package let reason: String
    package let fields: HTTPFields
    /// 0 or 1.
    package let minorVersion: Int
    /// The body of an answer to anything but HEAD and CONNECT.
    package let framing: BodyFraming

    /// False where the connection ends after the answer.
    package var keepsAlive: Bool {
        if framing == .untilClose || fields.list("connection", has: "close") { return false }
        return minorVersion >= 1 || fields.list("connection", has: "keep-alive")
    }
}

/// Takes response heads off the front of growing input.
package struct ResponseHeadParser: Sendable {
    private var parser = HeadParser()

    package init() {}

    /// The head that begins at `start`, and its count of bytes; nil until it is whole.
    ///
    /// Call it again with the same bytes and more behind them; after a head it is ready for the next.
    package mutating func parse(
        _ input: Span<UInt8>, from start: Int = 0
    ) throws(HTTPError) -> (head: ResponseHead, count: Int)? {
        guard let count = try parser.end(in: input, from: start) else { return nil }
        var bytes: [UInt8] = []
        bytes.append(contentsOf: input.extracting(start..<start + count))
        return (try ResponseHead(bytes), count)
    }
}

extension ResponseHead {
    fileprivate init(_ bytes: [UInt8]) throws(HTTPError) {
        let (line, fields) = try HeadParser.lines(of: bytes)
        let span = bytes.span
        guard line.count >= 12, span[line.lowerBound + 8] == 0x20,
            let status = HeadParser.decimal(span, line.lowerBound + 9..<line.lowerBound + 12),
            (100...599).contains(status), line.count == 12 || span[line.lowerBound + 12] == 0x20
        else { throw .malformed("the status line is not VERSION STATUS REASON") }
        minorVersion = try HeadParser.minorVersion(span, line.lowerBound..<line.lowerBound + 8)
        self.status = status
        reason = Array(bytes[min(line.lowerBound + 13, line.upperBound)..<line.upperBound]).text
        let hasNoBody = status < 200 || status == 204 || status == 304
        framing = hasNoBody ? .none : try fields.statedFraming() ?? .untilClose
        self.fields = fields
    }
}

internal import Bytes
internal import Delivery

/// The heads of a response as their lines come: those of 1xx answers, then the final one, then trailers.
struct ResponseHead {
    /// The final head's first line.
    private(set) var statusLine = ""
    /// The final head's fields, in order, then the trailers'.
    private(set) var fields: [HeaderField] = []
    /// True once the empty line that ends a head has come, until another head begins.
    private(set) var isComplete = false
    /// Bytes of all heads and trailers.
    private(set) var count = 0

    /// Takes one line with its line end.
    mutating func take(_ line: Span<UInt8>) {
        count += line.count
        var end = line.count
        while end > 0, line[end - 1] == 13 || line[end - 1] == 10 { end -= 1 }
        if end == 0 {
            isComplete = true
        } else if Self.beginsHead(line) {
            fields = []
            isComplete = false
            statusLine = Self.text(line, 0..<end)
        } else {
            takeField(line.extracting(0..<end))
        }
    }

    private static func beginsHead(_ line: Span<UInt8>) -> Bool {
        let start: [UInt8] = [0x48, 0x54, 0x54, 0x50, 0x2F]  // HTTP/
        return line.count >= start.count && start.indices.allSatisfy { line[$0] == start[$0] }
    }

    private mutating func takeField(_ line: Span<UInt8>) {
        guard let colon = line.indices.first(where: { line[$0] == UInt8(ascii: ":") }), colon > 0 else { return }
        var first = colon + 1
        var end = line.count
        while first < end, Self.isBlank(line[first]) { first += 1 }
        while end > first, Self.isBlank(line[end - 1]) { end -= 1 }
        fields.append(HeaderField(name: Self.text(line, 0..<colon), value: Self.text(line, first..<end)))
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

    private static func text(_ line: Span<UInt8>, _ range: Range<Int>) -> String {
        var bytes: [UInt8] = []
        bytes.append(contentsOf: line.extracting(range))
        return bytes.text
    }
}

internal import JSON

/// Takes the body of a delivery apart, whatever its shape: an array, an object, or an object a line.
enum EventLines {
    /// Each event on a line of its own, with a line feed; throws where the body is not JSON.
    static func of(_ body: [UInt8]) throws(JSONError) -> [[UInt8]] {
        let text = body.span
        var lines: [[UInt8]] = []
        var at = JSONScanner.skipWhitespace(in: text, from: 0)
        while at < body.count {
            let value = try JSONScanner.value(in: text, from: at)
            if value.kind == .array {
                var elements = JSONElements(arrayAt: value.range.lowerBound)
                while let element = elements.next(in: text) { lines.append(line(body, element)) }
            } else {
                lines.append(line(body, value.range))
            }
            at = JSONScanner.skipWhitespace(in: text, from: value.range.upperBound)
        }
        return lines
    }

    /// A value's bytes, line breaks between its tokens replaced; inside strings JSON has none.
    private static func line(_ body: [UInt8], _ range: Range<Int>) -> [UInt8] {
        body[range].map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 } + [0x0A]
    }
}

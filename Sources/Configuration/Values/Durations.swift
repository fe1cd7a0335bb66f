internal import Time

extension ValueKind where Value == Duration {
    /// A span in `range`, as systemd.time(7) writes it: `30s`, `1h 30min`, `250ms`; a bare number counts seconds.
    static func duration(_ range: ClosedRange<Duration>) -> ValueKind {
        ValueKind(
            { text throws(BadValue) in
                let value = try span(of: text)
                guard range.contains(value) else {
                    throw BadValue(
                        "\(text) is out of range: from \(range.lowerBound.spanText) to \(range.upperBound.spanText)")
                }
                return value
            }, show: { $0.spanText })
    }
}

/// The span that a text stands for.
private func span(of text: String) throws(BadValue) -> Duration {
    do throws(SpanError) {
        return try Duration(span: text)
    } catch {
        switch error {
        case .tooLong(let offset): throw BadValue("\(text) is too long", at: offset)
        case .malformed(let offset):
            throw BadValue(
                "'\(text)' is not a span of time: write numbers with ms, s, min, h, d or w, such as 30s or 1h 30min"
                    + comment(after: text), at: offset)
        }
    }
}

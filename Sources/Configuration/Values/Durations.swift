internal import Time

extension ValueKind where Value == Duration {
    /// A span in `range`, as systemd.time(7) writes it: `30s`, `1h 30min`, `250ms`; a bare number counts seconds.
    static func duration(_ range: ClosedRange<Duration>) -> ValueKind {
        ValueKind(
            { text throws(BadValue) in
                let value = try span(of: text)
                guard range.contains(value) else {
                    throw BadValue(
                        "\(text) is out of range: from \(spanText(range.lowerBound)) to \(spanText(range.upperBound))")
                }
                return value
            }, show: spanText)
    }
}

private let spanUnits: [(names: [String], nanoseconds: Int)] = [
    (["w", "week", "weeks"], 604_800_000_000_000),
    (["d", "day", "days"], 86_400_000_000_000),
    (["h", "hr", "hour", "hours"], 3_600_000_000_000),
    (["min", "m", "minute", "minutes"], 60_000_000_000),
    (["s", "sec", "second", "seconds", ""], 1_000_000_000),
    (["ms", "msec"], 1_000_000),
    (["us", "usec"], 1_000),
]

/// The span that a text stands for.
func span(of text: String) throws(BadValue) -> Duration {
    func wrong(_ offset: Int) -> BadValue {
        BadValue(
            "'\(text)' is not a span of time: write numbers with ms, s, min, h, d or w, such as 30s or 1h 30min"
                + comment(after: text), at: offset)
    }
    var rest = Substring(text)
    var total = 0
    repeat {
        let offset = text.unicodeScalars.count - rest.unicodeScalars.count
        let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        rest = rest.dropFirst(number.count).drop { $0 == " " }
        let name = rest.prefix { $0.isASCII && $0.isLetter }
        rest = rest.dropFirst(name.count).drop { $0 == " " }
        guard let unit = spanUnits.first(where: { $0.names.contains(String(name)) }),
            let value = scaled(number, by: unit.nanoseconds)
        else { throw wrong(offset) }
        let (sum, overflow) = total.addingReportingOverflow(value)
        if overflow { throw BadValue("\(text) is too long", at: offset) }
        total = sum
    } while !rest.isEmpty
    return .nanoseconds(total)
}

/// `1h 30min`; `0` for none.
@Sendable
func spanText(_ span: Duration) -> String {
    var rest = Int(span.nanoseconds)
    var parts: [String] = []
    for unit in spanUnits where rest >= unit.nanoseconds {
        parts.append("\(rest / unit.nanoseconds)\(unit.names[0])")
        rest %= unit.nanoseconds
    }
    return parts.isEmpty ? "0" : parts.joined(separator: " ")
}

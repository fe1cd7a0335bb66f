/// Why a text is no span of time.
package enum SpanError: Error {
    /// What is no number with a unit begins so many characters from the beginning.
    case malformed(at: Int)
    /// The sum, at this part, is more than can be counted in nanoseconds.
    case tooLong(at: Int)
}

extension Duration {
    private static let spanUnits: [(names: [String], nanoseconds: Int)] = [
        (["w", "week", "weeks"], 604_800_000_000_000),
        (["d", "day", "days"], 86_400_000_000_000),
        (["h", "hr", "hour", "hours"], 3_600_000_000_000),
        (["min", "m", "minute", "minutes"], 60_000_000_000),
        (["s", "sec", "second", "seconds", ""], 1_000_000_000),
        (["ms", "msec"], 1_000_000),
        (["us", "usec"], 1_000),
    ]

    /// The span that a text stands for, as systemd.time(7) writes it: `30s`, `1h 30min`; a bare number counts seconds.
    package init(span text: String) throws(SpanError) {
        var rest = Substring(text)
        var total = 0
        repeat {
            let offset = text.unicodeScalars.count - rest.unicodeScalars.count
            let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            rest = rest.dropFirst(number.count).drop { $0 == " " }
            let name = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(name.count).drop { $0 == " " }
            guard let unit = Self.spanUnits.first(where: { $0.names.contains(String(name)) }),
                let value = Int(decimal: number, times: unit.nanoseconds)
            else { throw .malformed(at: offset) }
            let (sum, overflow) = total.addingReportingOverflow(value)
            if overflow { throw .tooLong(at: offset) }
            total = sum
        } while !rest.isEmpty
        self = .nanoseconds(total)
    }

    /// `1h 30min`; `0` for none.
    package var spanText: String {
        var rest = Int(nanoseconds)
        var parts: [String] = []
        for unit in Self.spanUnits where rest >= unit.nanoseconds {
            parts.append("\(rest / unit.nanoseconds)\(unit.names[0])")
            rest %= unit.nanoseconds
        }
        return parts.isEmpty ? "0" : parts.joined(separator: " ")
    }
}

extension Int {
    /// A decimal number times `unit`; nil where it is none or too large.
    ///
    /// A fraction of up to 9 digits is taken where `unit` is more than one.
    package init?(decimal text: Substring, times unit: Int) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let whole = Self.digits(first) else { return nil }
        let (product, overflow) = whole.multipliedReportingOverflow(by: unit)
        guard !overflow else { return nil }
        var fraction = 0
        if parts.count == 2 {
            guard unit > 1, (1...9).contains(parts[1].count), var rest = Self.digits(parts[1]).map(Double.init) else {
                return nil
            }
            for _ in parts[1] { rest /= 10 }
            fraction = Int((rest * Double(unit)).rounded())
        }
        let (sum, carry) = product.addingReportingOverflow(fraction)
        guard !carry else { return nil }
        self = sum
    }

    private static func digits(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }
}

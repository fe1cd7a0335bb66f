internal import Bytes
internal import Time

/// Numbers as people read them.
enum Quantity {
    /// `12,345`.
    static func count(_ value: Int64) -> String {
        var digits = Array(String(value.magnitude))
        for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
        return (value < 0 ? "-" : "") + String(digits)
    }

    /// The two largest units: `12 s`, `5 min 3 s`, `2 h 5 min`, `9 d`; what is negative shows as `0 s`.
    static func duration(_ span: Duration) -> String {
        let seconds = max(0, span.components.seconds)
        switch seconds {
        case 0..<60: return "\(seconds) s"
        case 60..<3_600: return pair(seconds / 60, "min", seconds % 60, "s")
        case 3_600..<86_400: return pair(seconds / 3_600, "h", seconds % 3_600 / 60, "min")
        default: return pair(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h")
        }
    }

    /// `850 us`, `1.2 ms`, `3 s`.
    static func microseconds(_ value: Int64) -> String {
        switch value {
        case ..<1_000: "\(value) us"
        case ..<1_000_000: "\(Amount.tenths(Double(value) / 1_000)) ms"
        default: "\(Amount.tenths(Double(value) / 1_000_000)) s"
        }
    }

    /// `2 %` of a whole, rounded down; nil where the whole is nothing.
    static func share(_ part: Int64, of whole: Int64) -> String? {
        whole > 0 ? "\(Int64(max(0, min(1e6, Double(part) / Double(whole) * 100)))) %" : nil
    }

    private static func pair(_ large: Int64, _ largeUnit: String, _ small: Int64, _ smallUnit: String) -> String {
        small == 0 ? "\(large) \(largeUnit)" : "\(large) \(largeUnit) \(small) \(smallUnit)"
    }
}

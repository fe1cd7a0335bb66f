internal import Bytes
internal import Time

/// The field `Retry-After` (RFC 9110, 10.2.3).
enum RetryAfter {
    /// The longest wait that an answer can ask for.
    static let maximum = Duration.seconds(3_600)
    /// The longest that it becomes at random: a tenth more, so that not all come back at once that were asked for it.
    static let longest = maximum * 11 / 10

    /// Between what and what a wait that was asked for is kept, at random: up to twice as long, within `longest`.
    static func kept(_ asked: Duration) -> ClosedRange<Duration> { asked...min(asked * 2, longest) }

    /// The wait that an answer asks for; nil where it asks for none, for zero or less, or cannot be understood.
    ///
    /// A date is taken relative to the answer's own `Date`, so that a wrong clock here does no harm.
    static func wait(in headers: [HeaderField]) -> Duration? {
        guard let value = headers.first(named: "Retry-After") else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy({ (48...57).contains($0) }) {
            let seconds = Int64(value) ?? .max
            return seconds > 0 ? min(.seconds(min(seconds, 3_600)), maximum) : nil
        }
        guard let then = HTTPDate.time(value), let now = headers.first(named: "Date").flatMap(HTTPDate.time) else {
            return nil
        }
        let span = Duration.milliseconds(then.milliseconds - now.milliseconds)
        return span > .zero ? min(span, maximum) : nil
    }
}

/// Dates in HTTP (RFC 9110, 5.6.7): the preferred form and the two obsolete ones.
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The time that a text of any of the three forms names; nil for anything else.
    ///
    /// The day's name is not looked at: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`,
    /// `Sun Nov  6 08:49:37 1994`.
    static func time(_ text: String) -> WallTime? {
        let words = text.split { $0 == " " || $0 == "-" }.map(String.init)
        switch words.count {
        case 6 where words[5] == "GMT" && words[0].hasSuffix(","):
            guard let year = year(words[3]) else { return nil }
            return time(year, words[2], words[1], words[4])
        case 5:
            guard words[4].utf8.count == 4, let year = year(words[4]) else { return nil }
            return time(year, words[1], words[2], words[3])
        default: return nil
        }
    }

    private static func year(_ text: String) -> Int? {
        guard let value = number(text) else { return nil }
        switch text.utf8.count {
        case 4: return value
        case 2: return value < 70 ? 2_000 + value : 1_900 + value
        default: return nil
        }
    }

    private static func time(_ year: Int, _ month: String, _ day: String, _ clock: String) -> WallTime? {
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard let month = months.firstIndex(of: month), let day = number(day), (1...31).contains(day),
            parts.count == 3, parts.allSatisfy({ $0.utf8.count == 2 }), let hour = number(parts[0]), hour < 24,
            let minute = number(parts[1]), minute < 60, let second = number(parts[2]), second <= 60
        else { return nil }
        let secondOfDay = (hour * 60 + minute) * 60 + second
        return WallTime(year: year, month: month + 1, day: day, secondOfDay: secondOfDay)
    }

    private static func number(_ digits: String) -> Int? {
        digits.utf8.allSatisfy { (48...57).contains($0) } ? Int(digits) : nil
    }
}

/// A point of the wall clock (UTC), in milliseconds since 1970-01-01T00:00:00Z; leap seconds do not count.
package struct WallTime: Comparable, Hashable, Sendable {
    /// Milliseconds since 1970.
    package let milliseconds: Int64

    /// The time so many milliseconds after 1970 began.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Which of two times is the earlier.
    package static func < (left: WallTime, right: WallTime) -> Bool { left.milliseconds < right.milliseconds }
}

extension WallTime {
    /// The time of a civil date and time of day in UTC.
    ///
    /// After H. Hinnant, "chrono-compatible low-level date algorithms".
    package init(year: Int, month: Int, day: Int, secondOfDay: Int, millisecond: Int = 0) {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        milliseconds = Int64(days * 86_400 + secondOfDay) * 1_000 + Int64(millisecond)
    }

    /// RFC 3339 in UTC with milliseconds, 24 bytes for years 0 to 9999: `2026-11-30T07:04:38.123Z`.
    package var rfc3339: [UInt8] {
        let (date, inDay) = civil
        var text: [UInt8] = []
        text.reserveCapacity(24)
        func digits(_ value: Int, _ count: Int) {
            var unit = 1
            for _ in 1..<count { unit *= 10 }
            while unit > 0 {
                text.append(UInt8(ascii: "0") + UInt8(value / unit % 10))
                unit /= 10
            }
        }
        digits(date.year, 4)
        text.append(UInt8(ascii: "-"))
        digits(date.month, 2)
        text.append(UInt8(ascii: "-"))
        digits(date.day, 2)
        text.append(UInt8(ascii: "T"))
        digits(inDay / 3_600_000, 2)
        text.append(UInt8(ascii: ":"))
        digits(inDay / 60_000 % 60, 2)
        text.append(UInt8(ascii: ":"))
        digits(inDay / 1_000 % 60, 2)
        text.append(UInt8(ascii: "."))
        digits(inDay % 1_000, 3)
        text.append(UInt8(ascii: "Z"))
        return text
    }

    private var civil: (date: (year: Int, month: Int, day: Int), millisecondOfDay: Int) {
        let dayLength: Int64 = 86_400_000
        let days = Int((milliseconds >= 0 ? milliseconds : milliseconds - dayLength + 1) / dayLength)
        let inDay = Int(milliseconds - Int64(days) * dayLength)
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthShifted = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthShifted + 2) / 5 + 1
        let month = monthShifted < 10 ? monthShifted + 3 : monthShifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return ((year, month, day), inDay)
    }
}

extension WallTime {
    /// Reads the form that `rfc3339` writes, `2026-11-30T07:04:38.123Z`; nil for any other.
    package init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        let pattern = Array("dddd-dd-ddTdd:dd:dd.dddZ".utf8)
        guard bytes.count == pattern.count else { return nil }
        for (byte, kind) in zip(bytes, pattern) {
            let isDigit = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
            guard kind == UInt8(ascii: "d") ? isDigit : byte == kind else { return nil }
        }
        func number(_ range: Range<Int>) -> Int {
            bytes[range].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }
        let month = number(5..<7)
        let day = number(8..<10)
        let hour = number(11..<13)
        let minute = number(14..<16)
        let second = number(17..<19)
        guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 60 else { return nil }
        self.init(
            year: number(0..<4), month: month, day: day, secondOfDay: hour * 3_600 + minute * 60 + second,
            millisecond: number(20..<23))
    }
}

internal import Time

extension ValueKind where Value == Int {
    /// A whole number in `range`.
    static func number(_ range: ClosedRange<Int>) -> ValueKind {
        ValueKind(
            { text throws(BadValue) in
                guard text.utf8.allSatisfy({ (48...57).contains($0) }), let value = Int(text), range.contains(value)
                else {
                    throw BadValue(
                        "'\(text)' is not a whole number from \(range.lowerBound) to \(range.upperBound)"
                            + comment(after: text))
                }
                return value
            }, show: { String($0) })
    }

    /// Bytes, with the binary units of systemd: `512M`.
    static func size(_ range: ClosedRange<Int>) -> ValueKind {
        ValueKind(
            { text throws(BadValue) in
                let value = try bytes(of: text)
                guard range.contains(value) else {
                    throw BadValue(
                        "\(text) is out of range: from \(sizeText(range.lowerBound)) to \(sizeText(range.upperBound))")
                }
                return value
            }, show: sizeText)
    }
}

private let sizeUnits: [(letter: Character, bytes: Int)] = [
    ("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10),
]

/// The number of bytes that `512M`, `1.5G` or `4096` stands for.
func bytes(of text: String) throws(BadValue) -> Int {
    let wrong = BadValue(
        "'\(text)' is not a size: write a number and one of K, M, G, T (times 1024), such as 512M"
            + comment(after: text))
    var digits = Substring(text)
    var unit = 1
    if let last = digits.last, !last.isASCII || !last.isNumber {
        digits.removeLast()
        if last != "B" {
            guard let known = sizeUnits.first(where: { $0.letter == last }) else { throw wrong }
            unit = known.bytes
        }
    }
    guard let value = Int(decimal: digits, times: unit) else { throw wrong }
    return value
}

/// `512M` for 536870912: the largest unit that leaves no rest.
@Sendable
func sizeText(_ bytes: Int) -> String {
    for (letter, unit) in sizeUnits where bytes >= unit && bytes.isMultiple(of: unit) {
        return "\(bytes / unit)\(letter)"
    }
    return String(bytes)
}

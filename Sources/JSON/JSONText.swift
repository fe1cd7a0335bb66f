internal import Bytes

/// The text of JSON strings.
package enum JSONText {
    /// What becomes of a surrogate without its other half, which only an escape can write.
    package enum LoneSurrogates {
        /// U+FFFD stands for it.
        case replaced
        /// Three bytes as in WTF-8, ED A0 80 to ED BF BF, so that different strings stay different; not UTF-8.
        case kept
    }

    /// The UTF-8 of a checked string, given by the range between its quotation marks, with escapes resolved.
    package static func unescaped(
        _ text: Span<UInt8>, in range: Range<Int>, loneSurrogates: LoneSurrogates = .replaced
    ) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(range.count)
        var at = range.lowerBound
        while at < range.upperBound {
            guard text[at] == UInt8(ascii: "\\"), at + 1 < range.upperBound else {
                result.append(text[at])
                at += 1
                continue
            }
            at += 2
            switch text[at - 1] {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                guard let point = codePoint(text, &at, end: range.upperBound) else { return result }
                if let scalar = Unicode.Scalar(point) {
                    result.append(contentsOf: String(scalar).utf8)
                } else if loneSurrogates == .kept {
                    result += [0xED, UInt8(0x80 | point >> 6 & 0x3F), UInt8(0x80 | point & 0x3F)]
                } else {
                    result.append(contentsOf: "\u{FFFD}".utf8)
                }
            default: result.append(text[at - 1])
            }
        }
        return result
    }

    /// Reads the digits of `\u` at `at`, and the low half of a pair after them; may be a lone surrogate.
    private static func codePoint(_ text: Span<UInt8>, _ at: inout Int, end: Int) -> UInt32? {
        guard let first = unit(text, at, end: end) else { return nil }
        at += 4
        guard (0xD800..<0xDC00).contains(first), at + 2 <= end, text[at] == UInt8(ascii: "\\"),
            text[at + 1] == UInt8(ascii: "u"), let second = unit(text, at + 2, end: end),
            (0xDC00..<0xE000).contains(second)
        else { return first }
        at += 6
        return 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
    }

    private static func unit(_ text: Span<UInt8>, _ at: Int, end: Int) -> UInt32? {
        guard at + 4 <= end else { return nil }
        var digits: [UInt8] = []
        for place in at..<at + 4 { digits.append(text[place]) }
        return Hexadecimal.value(digits).map { UInt32($0) }
    }

    /// Appends a string's UTF-8 with what JSON demands escaped, between quotation marks; malformed UTF-8 is replaced.
    package static func append(quoted string: Span<UInt8>, to bytes: inout [UInt8]) {
        guard isASCII(string) else {
            var copy: [UInt8] = []
            copy.append(contentsOf: string)
            let repaired = Array(copy.text.utf8)
            return appendEscaped(repaired.span, to: &bytes)
        }
        appendEscaped(string, to: &bytes)
    }

    private static func isASCII(_ string: Span<UInt8>) -> Bool {
        for index in string.indices where string[index] >= 0x80 { return false }
        return true
    }

    private static func appendEscaped(_ string: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for index in string.indices {
            let byte = string[index]
            switch byte {
            case UInt8(ascii: "\""): bytes.append("\\\"")
            case UInt8(ascii: "\\"): bytes.append("\\\\")
            case 0x0A: bytes.append("\\n")
            case 0x0D: bytes.append("\\r")
            case 0x09: bytes.append("\\t")
            case 0..<0x20, 0x7F:
                bytes.append("\\u")
                bytes.append(contentsOf: Hexadecimal.digits(UInt64(byte), count: 4))
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

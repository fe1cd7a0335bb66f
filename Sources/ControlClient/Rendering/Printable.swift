extension StringProtocol {
    /// The text with everything that could steer a terminal, or reorder what it shows, written as `\u001b`.
    var printable: String {
        var result = ""
        for scalar in unicodeScalars {
            if scalar.steersTerminal {
                result += scalar.jsonEscape
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// JSON that stays the same JSON, with what could steer a terminal escaped inside its strings.
func printableJSON(_ json: [UInt8]) -> [UInt8] {
    var result = ""
    for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
        if scalar.steersTerminal, scalar != "\n" {
            result += scalar == "\t" || scalar == "\r" ? " " : scalar.jsonEscape
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return Array(result.utf8)
}

extension Unicode.Scalar {
    /// A control character (C0, DEL, C1), a line or paragraph separator, or a format character that changes direction.
    fileprivate var steersTerminal: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x2069, 0xFEFF: true
        default: false
        }
    }

    /// `\u001b`; all that need it have four digits.
    fileprivate var jsonEscape: String {
        let digits = String(value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}

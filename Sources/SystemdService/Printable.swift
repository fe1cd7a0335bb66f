/// Text of others made safe for one line of a log.
package enum Printable {
    /// `text` with control characters and line separators written as `\xNN` or `\u{NNNN}`, cut at `limit` bytes.
    package static func line(_ text: String, limit: Int) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            let piece: String
            switch scalar.properties.generalCategory {
            case .control:
                let digits = String(scalar.value, radix: 16)
                piece = "\\x" + (digits.count < 2 ? "0" : "") + digits
            case .lineSeparator, .paragraphSeparator, .format:
                piece = "\\u{" + String(scalar.value, radix: 16) + "}"
            default: piece = String(scalar)
            }
            guard result.utf8.count + piece.utf8.count <= limit - 3 else { return result + "..." }
            result += piece
        }
        return result
    }
}

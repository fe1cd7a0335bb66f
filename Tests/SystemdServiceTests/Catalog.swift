@testable import SystemdService

/// The journal's catalog (systemd/uplinkd.catalog), which `journalctl -x` shows below each message.
enum Catalog {
    /// The whole file: a block for each kind of notice, in the order of the table.
    static var text: String {
        let head =
            "# What uplinkd's messages mean, and what to do. Made from the table in Sources/SystemdService/Notices.\n"
        return head + NoticeKind.allCases.map(block).joined()
    }

    private static func block(_ kind: NoticeKind) -> String {
        let entry = kind.entry
        return """

            -- \(kind.rawValue)
            Subject: \(subject(entry.text))
            Defined-By: uplinkd
            Documentation: file:/usr/share/doc/uplinkd/README.md

            \(wrapped(entry.meaning))

            What to do: \(wrapped(entry.action))

            """
    }

    /// The message without the parts in brackets, which may be missing.
    private static func subject(_ text: String) -> String {
        var result = ""
        var isInside = false
        for character in text {
            if character == "[" { isInside = true }
            if !isInside { result.append(character) }
            if character == "]" { isInside = false }
        }
        return result
    }

    /// `text` in lines of at most 100 characters.
    private static func wrapped(_ text: String) -> String {
        var lines: [String] = [""]
        for word in text.split(separator: " ") {
            let last = lines[lines.count - 1]
            if last.isEmpty {
                lines[lines.count - 1] = String(word)
            } else if last.count + word.count < 100 {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines.joined(separator: "\n")
    }
}

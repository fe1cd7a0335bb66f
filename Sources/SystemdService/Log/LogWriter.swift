internal import Bytes
internal import CSystemd
internal import Posix

/// Writes notices, each at once; may wait, so only the log thread calls it.
struct LogWriter: Sendable {
    let target: LogTarget

    func write(_ notice: Notice) {
        switch target {
        case .journal: Self.sendToJournal(notice)
        case .standardError(let withPriority):
            try? StandardStream.error.write(Self.line(notice, withPriority: withPriority))
        }
    }

    /// One line with its newline.
    static func line(_ notice: Notice, withPriority: Bool) -> [UInt8] {
        var line: [UInt8] = []
        line.append(utf8: withPriority ? "<\(notice.kind.entry.priority.rawValue)>" : "uplinkd: ")
        line.append(utf8: notice.message)
        line.append("\n")
        return line
    }

    /// The entry's fields, each `NAME=value`.
    static func fields(_ notice: Notice) -> [String] {
        var fields = [
            "MESSAGE=\(notice.message)",
            "PRIORITY=\(notice.kind.entry.priority.rawValue)",
            "MESSAGE_ID=\(notice.kind.rawValue)",
            "SYSLOG_IDENTIFIER=uplinkd",
        ]
        for field in NoticeField.allCases {
            if let value = notice.fields[field] { fields.append("\(field.rawValue)=\(value)") }
        }
        return fields
    }

    private static func sendToJournal(_ notice: Notice) {
        var bytes: [UInt8] = []
        var lengths: [Int] = []
        for field in fields(notice) {
            let before = bytes.count
            bytes.append(utf8: field)
            lengths.append(bytes.count - before)
        }
        _ = unsafe cs_journal_send(bytes, lengths, lengths.count)
    }
}

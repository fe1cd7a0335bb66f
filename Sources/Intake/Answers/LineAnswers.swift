internal import Bytes
internal import JSON

/// The answers of a newline JSON connection, in the order of its lines.
struct LineAnswers {
    private enum Entry {
        /// Events that wait for their commit: the line of the first, and the count of all taken up to the last.
        case events(first: Position, line: UInt64, total: UInt64)
        case error([UInt8])
    }

    /// As many may wait as that.
    static let limit = 256

    private var waiting: [Entry] = []

    /// No more can wait.
    var isFull: Bool { waiting.count >= Self.limit }

    /// Nothing waits.
    var isEmpty: Bool { waiting.isEmpty }

    /// Notes events of lines from `line` on, the first at `first`; `total` counts all taken on the connection.
    mutating func add(first: Position, line: UInt64, total: UInt64) {
        if case .events(let earlier, let earlierLine, _)? = waiting.last, earlier.ordinal == first.ordinal {
            waiting[waiting.count - 1] = .events(first: earlier, line: earlierLine, total: total)
        } else {
            waiting.append(.events(first: first, line: line, total: total))
        }
    }

    /// Answers a line with an error, at once or behind the events that wait.
    mutating func add(error: [UInt8], to output: inout [UInt8]) {
        if waiting.isEmpty { output += error } else { waiting.append(.error(error)) }
    }

    /// Writes what a commit has settled; the refusal and the line that it begins with, if it refused.
    ///
    /// After a refusal nothing waits any more.
    mutating func settle(
        _ settlement: Settlement, total written: inout UInt64, to output: inout [UInt8]
    ) -> (refusal: Refusal, line: UInt64)? {
        var done = 0
        loop: for entry in waiting {
            switch entry {
            case .error(let bytes): output += bytes
            case .events(let first, let line, let total):
                switch settlement.outcome(of: first) {
                case .none: break loop
                case .durable:
                    output.append("{\"accepted\":")
                    output.append(decimal: total)
                    output.append("}\n")
                    written = total
                case .refused(let refusal):
                    waiting.removeAll()
                    return (refusal, line)
                }
            }
            done += 1
        }
        waiting.removeFirst(done)
        return nil
    }
}

/// Errors as newline JSON clients read them.
enum LineError {
    /// `{"error":{"line":L,"status":S,"detail":"…"}}` and a line feed.
    static func bytes(line: UInt64, status: Int, detail: String, retryAfterSeconds: Int? = nil) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("error")
        writer.beginObject()
        writer.member("line", line)
        writer.member("status", status)
        writer.member("detail", detail)
        if let retryAfterSeconds { writer.member("retry_after", retryAfterSeconds) }
        writer.endObject()
        writer.endObject()
        return writer.bytes + [0x0A]
    }
}

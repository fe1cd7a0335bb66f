internal import JSON

extension Command {
    /// All commands, in the order of help.
    static var all: [Command] { [status, send, flush, reload, collector] }

    static let plainTimeLimit: Duration = .seconds(10)
}

extension Console {
    /// Prints the daemon's JSON, one document.
    func write(json: [UInt8]) {
        let text = printableJSON(json)
        write(text.last == UInt8(ascii: "\n") ? text : text + [UInt8(ascii: "\n")])
    }

    /// Tells why there was no answer, and how to end.
    func complain(_ error: ClientError) -> ExitStatus {
        complain(error.message)
        return error.exitStatus
    }

    /// Tells of an answer that is an error, and how to end.
    func complain(_ answer: Answer) -> ExitStatus {
        let problem = try? JSONValue(parsing: answer.body)
        let parts = [problem?["title"]?.string, problem?["detail"]?.string].compactMap { $0 }
        complain(parts.isEmpty ? "the daemon answered \(answer.status)" : parts.joined(separator: ": "))
        switch answer.status {
        case 401, 403: return .notAllowed
        case 408, 429, 503: return .tryLater
        default: return .failed
        }
    }
}

internal import Bytes
internal import JSON

extension Command {
    /// All commands, in the order of help.
    static var all: [Command] {
        [
            status, monitor, probe, send, queueList, queuePeek, flush, pause, resume, deadList, deadShow, deadRetry,
            deadDrop, destinationForget, destinationRename, consentShow, consentSet, purge, verify, export, configCheck,
            configShow, reload, collector,
        ]
    }

    static let plainTimeLimit: Duration = .seconds(10)
    /// For what the daemon's disk must do first.
    static let orderTimeLimit: Duration = .seconds(60)
}

/// What may be meant by a word that is none of the known, to follow what says so; "" where nothing is near.
func hint(_ word: String, among known: [String]) -> String {
    nearest(to: word, among: known).map { "; did you mean '\($0)'?" } ?? ""
}

extension Console {
    /// Prints the daemon's JSON, one document.
    func write(json: [UInt8]) {
        let text = printableJSON(json)
        write(text.last == UInt8(ascii: "\n") ? text : text + [UInt8(ascii: "\n")])
    }

    /// Tells why there was no answer, and how to end.
    func complain(_ error: ClientError, of socket: DaemonSocket = .control) -> ExitStatus {
        complain(error.message)
        if case .notAllowed(let path) = error { explain(SocketAdvice(path, socket).text) }
        return error.exitStatus
    }

    /// Tells that no destination has that name, and how to end.
    func complain(unknownDestination name: String, among names: [String]) -> ExitStatus {
        complain("no destination is named '\(name)'" + hint(name, among: names))
        return .failed
    }

    /// Tells of an answer that is an error, and how to end.
    func complain(_ answer: Answer, of socket: DaemonSocket) -> ExitStatus {
        complain(answer.reason(of: socket))
        return answer.exitStatus
    }
}

extension Answer {
    /// Why it is an error, without a full stop; `socket` is the one that was meant to be asked.
    func reason(of socket: DaemonSocket) -> String {
        let problem = try? JSONValue(parsing: body)
        if status == 404, problem?["type"]?.string == "urn:uplinkd:problem:not-found" { return socket.mistaken }
        let parts = [problem?["title"]?.string, problem?["detail"]?.string].compactMap { $0 }
        let reason = parts.isEmpty ? "the daemon answered \(status)" : parts.joined(separator: ": ")
        return reason + (retryAfterSeconds.map { "; try again in \($0) s" } ?? "")
    }

    /// How the tool ends after an answer that is an error.
    var exitStatus: ExitStatus {
        switch status {
        case 401, 403: .notAllowed
        case 408, 429, 503: .tryLater
        default: .failed
        }
    }
}

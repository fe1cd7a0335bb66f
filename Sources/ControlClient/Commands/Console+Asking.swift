internal import JSON

extension CommandOption {
    /// For what cannot be undone.
    static let yes = CommandOption(name: "--yes", value: nil, summary: "do it without asking")
}

extension Console {
    /// Asks the control socket once and prints the answer: with `--json`, or without a `sentence`, as it is.
    func ask(
        _ method: String, _ target: String, body: [UInt8]? = nil, within limit: Duration = Command.plainTimeLimit,
        for invocation: Invocation, _ sentence: ((JSONValue) -> String)? = nil
    ) -> ExitStatus {
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, self))
            let answer = try daemon.exchange(method: method, target: target, body: body, within: limit)
            guard answer.status == 200, let value = try? JSONValue(parsing: answer.body) else {
                return complain(answer, of: .control)
            }
            if let sentence, !invocation.has("--json") {
                write(line: sentence(value))
            } else {
                write(json: answer.body)
            }
            return .success
        } catch {
            return complain(error)
        }
    }

    /// Asks on a terminal whether to do what cannot be undone, unless `--yes` is given; how to end where not.
    func confirm(_ question: String, _ invocation: Invocation) -> ExitStatus? {
        guard !invocation.has(CommandOption.yes.name) else { return nil }
        guard isInteractive else {
            complain("this cannot be undone, and there is no terminal to ask at: give --yes if it is meant")
            return .usage
        }
        explain(question.printable + " [y/N] ")
        var answer: [UInt8] = []
        while !answer.contains(UInt8(ascii: "\n")), answer.count < 100, (try? read(into: &answer)) ?? 0 > 0 {}
        if ["y", "yes"].contains(String(decoding: answer.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)) {
            return nil
        }
        complain("nothing was done")
        return .failed
    }
}

internal import JSON

extension Command {
    static let reload = Command(
        name: "reload", operand: nil, options: [],
        summary: "read the configuration anew",
        details: """
            Has the daemon read its configuration again and waits for the verdict. With an
            error in it the old configuration stays in force and the exit status is 1.
            Otherwise it prints each setting that changed, with its old and its new value,
            and says which of them wait for a restart.
            """
    ) { invocation, console in
        let answer: Answer
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            answer = try daemon.exchange(method: "POST", target: "/v1/reload", within: .seconds(60))
        } catch {
            return console.complain(error)
        }
        if invocation.has("--json") { console.write(json: answer.body) }
        let verdict = try? JSONValue(parsing: answer.body)
        func texts(_ name: String) -> [String] { (verdict?[name]?.array ?? []).compactMap { $0.string } }
        guard answer.status == 200 else {
            for error in texts("errors") { console.complain(error) }
            return console.complain(answer, of: .control)
        }
        guard !invocation.has("--json") else { return .success }
        for warning in texts("warnings") { console.complain(warning) }
        let lines = (texts("changed") + texts("needs_restart")).map { "changed: \($0)" }
        for line in lines.isEmpty ? ["nothing changed"] : lines { console.write(line: line.printable) }
        if !texts("needs_restart").isEmpty {
            console.write(line: "what needs a restart is in force after 'systemctl restart uplinkd'")
        }
        return .success
    }
}

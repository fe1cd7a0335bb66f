internal import JSON

extension Command {
    static let reload = Command(
        name: "reload", operand: nil, options: [],
        summary: "read the configuration anew",
        details: """
            Has the daemon read its configuration again and waits for the verdict. With an
            error in it the old configuration stays in force and the exit status is 1.
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
        for warning in texts("warnings") { console.complain("warning: \(warning)") }
        guard !invocation.has("--json") else { return .success }
        let changed = texts("changed").joined(separator: ", ").printable
        console.write(line: changed.isEmpty ? "nothing changed" : "changed: \(changed)")
        let waiting = texts("needs_restart").joined(separator: ", ").printable
        if !waiting.isEmpty { console.write(line: "needs a restart: \(waiting)") }
        return .success
    }
}

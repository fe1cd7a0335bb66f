internal import JSON

extension Command {
    static let deadList = Command(
        name: "dead ls", operand: nil, options: [.ofDestination],
        summary: "list events that a destination refused for good",
        details: """
            One dead letter a line: its id, the destination, the status of the answer, how
            often it was tried, when, and the start of the answer.
            """
    ) { invocation, console in
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            var after: String?
            var rows: [[String]] = []
            repeat {
                var parameters: [String] = []
                if let name = invocation.options["--destination"] {
                    parameters.append("destination=" + name.percentEncoded)
                }
                if let after { parameters.append("after=" + after.percentEncoded) }
                let query = parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&")
                let answer = try daemon.exchange(method: "GET", target: "/v1/dead" + query, within: plainTimeLimit)
                guard answer.status == 200, let page = try? JSONValue(parsing: answer.body) else {
                    return console.complain(answer, of: .control)
                }
                if invocation.has("--json") {
                    console.write(json: answer.body)
                } else {
                    for letter in page["dead"]?.array ?? [] { rows.append(row(of: letter)) }
                }
                after = page["next"]?.string
                // The daemon may have closed the connection meanwhile.
                if after != nil, !answer.keepsAlive {
                    daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
                }
            } while after != nil
            guard !invocation.has("--json") else { return .success }
            let titles = ["ID", "DESTINATION", "STATUS", "TRIES", "WHEN", "ANSWER"]
            let lines = rows.isEmpty ? ["there is no dead letter"] : Table(titles, rows, numbers: [3]).lines
            for line in lines { console.write(line: line) }
            return .success
        } catch {
            return console.complain(error)
        }
    }

    /// What the collector said is escaped.
    private static func row(of letter: JSONValue) -> [String] {
        let cells = [
            letter["id"]?.string ?? "", letter["destination"]?.string ?? "",
            letter["status"]?.integer.map { "\($0)" } ?? "-", Quantity.count(letter["attempts"]?.integer ?? 0),
            letter["at"]?.string ?? "",
            letter["retried"] == .boolean(true)
                ? "(to be sent again)" : String((letter["detail"]?.string ?? "").prefix(80)),
        ]
        return cells.map(\.printable)
    }
}

internal import Bytes
internal import JSON

extension Command {
    static let monitor = Command(
        name: "monitor", operand: nil, options: [],
        summary: "show each change as it comes",
        details: """
            Prints a line for each change of a destination's state or gate, of the
            network, of delivery, storage and configuration, with what brought it about,
            until interrupted or until the daemon stops; ends with 69 where the daemon goes
            without a word.
            """
    ) { invocation, console in
        do throws(ClientError) {
            let path = DaemonSocket.control.path(invocation, console)
            var daemon = try DaemonConnection(path)
            var isOver = false
            let refusal = try daemon.follow(target: "/v1/watch", within: plainTimeLimit) { line in
                let change = try? JSONValue(parsing: line)
                if invocation.has("--json") {
                    console.write(json: line)
                } else if let change {
                    console.write(line: sentence(of: change))
                }
                isOver = console.outputFailure != nil || change?["kind"]?.string == "daemon"
                return !isOver
            }
            if let refusal { return console.complain(refusal, of: .control) }
            guard isOver else { throw .ended(path: path) }
            return .success
        } catch {
            return console.complain(error)
        }
    }

    /// `2026-11-30T12:00:00.123Z main: reachable -> no-path (no-route: no route to 192.0.2.1) by kernel ipv4-route`.
    private static func sentence(of change: JSONValue) -> String {
        func text(_ name: String) -> String? { change[name]?.string }
        let kind = text("destination") == nil || text("kind") == "state" ? nil : text("kind")
        let states = [text("from"), text("to")].compactMap { $0 }.joined(separator: " -> ")
        let reason = text("reason") == "none" ? nil : text("reason")
        let why = [reason, text("detail")].compactMap { $0 }.joined(separator: ": ")
        let parts = [
            text("at"), (text("destination") ?? text("kind")).map { $0 + ":" }, kind, states.isEmpty ? nil : states,
            why.isEmpty ? nil : states.isEmpty ? why : "(\(why))", text("cause").map { "by " + $0 },
        ]
        return parts.compactMap { $0 }.joined(separator: " ").printable
    }
}

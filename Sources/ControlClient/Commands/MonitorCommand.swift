internal import Bytes
internal import JSON

extension Command {
    static let monitor = Command(
        name: "monitor", operand: nil, options: [],
        summary: "show each change as it comes",
        details: """
            Prints a line for each change of a destination's state or gate, of the
            network, of delivery, storage and configuration, with what brought it about,
            until interrupted or until the daemon stops.
            """
    ) { invocation, console in
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            let refusal = try daemon.follow(target: "/v1/watch", within: plainTimeLimit) { line in
                if invocation.has("--json") {
                    console.write(json: line)
                } else if let change = try? JSONValue(parsing: line) {
                    console.write(line: sentence(of: change))
                }
                return console.outputFailure == nil
            }
            guard let refusal else { return .success }
            return console.complain(refusal, of: .control)
        } catch {
            return console.complain(error)
        }
    }

    /// `2026-11-30T12:00:00.123Z main: reachable -> no-path (no-route: no route to 192.0.2.1) by kernel ipv4-route`.
    private static func sentence(of change: JSONValue) -> String {
        func text(_ name: String) -> String? { change[name]?.string }
        var line = "\(text("at") ?? "") \(text("destination") ?? text("kind") ?? ""): "
        if text("destination") != nil, let kind = text("kind"), kind != "state" { line += kind + " " }
        line += [text("from"), text("to")].compactMap { $0 }.joined(separator: " -> ")
        let why = [text("reason"), text("detail")].compactMap { $0 }.joined(separator: ": ")
        if !why.isEmpty { line += " (\(why))" }
        if let cause = text("cause") { line += " by \(cause)" }
        return line.printable
    }
}

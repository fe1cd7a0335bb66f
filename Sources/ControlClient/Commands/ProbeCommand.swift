internal import JSON

extension Command {
    static let probe = Command(
        name: "probe", operand: "DEST", candidates: [.destinations], options: [],
        summary: "look at the way to a destination step by step",
        details: """
            Looks DEST's name up, asks the kernel for the way, connects, agrees on TLS and
            asks what a check asks; for every destination where none is named. Sends no
            event and changes nothing. Ends with a sentence that says what to do next, and
            with 1 where something is not as it should be. Takes up to 25 seconds.
            """
    ) { invocation, console in
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            let known = try daemon.exchange(method: "GET", target: "/v1/status", within: plainTimeLimit)
            guard known.status == 200, let status = StatusDocument(known.body) else {
                return console.complain(known, of: .control)
            }
            let names = status.destinations.filter(\.isConfigured).map(\.name)
            let wanted = invocation.operand.map { [$0] } ?? names
            if let stranger = wanted.first(where: { !names.contains($0) }) {
                return console.complain(unknownDestination: stranger, among: names)
            }
            var allIsWell = true
            for name in wanted {
                let answer = try daemon.exchange(
                    method: "POST", target: "/v1/destinations/\(name)/probe", within: .seconds(40))
                guard answer.status == 200, let report = try? JSONValue(parsing: answer.body) else {
                    return console.complain(answer, of: .control)
                }
                allIsWell = allIsWell && report["reason"]?.string == "none"
                if invocation.has("--json") {
                    console.write(json: answer.body)
                } else {
                    for line in ProbeScreen(report).lines { console.write(line: line) }
                }
            }
            return allIsWell ? .success : .failed
        } catch {
            return console.complain(error)
        }
    }
}

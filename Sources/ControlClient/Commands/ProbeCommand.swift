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
        var allIsWell = true
        let status = post("probe", toDestinationsOf: invocation, console, within: .seconds(40)) { _, answer in
            guard answer.status == 200, let report = try? JSONValue(parsing: answer.body) else {
                return console.complain(answer, of: .control)
            }
            allIsWell = allIsWell && report["reason"]?.string == "none"
            if invocation.has("--json") {
                console.write(json: answer.body)
            } else {
                for line in ProbeScreen(report).lines { console.write(line: line) }
            }
            return nil
        }
        return status == .success && !allIsWell ? .failed : status
    }
}

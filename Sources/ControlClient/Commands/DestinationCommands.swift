internal import Bytes
internal import JSON

extension Command {
    static let flush = Command(
        name: "flush", operand: "DEST", options: [],
        summary: "try a destination, or all of them, at once",
        details: """
            Ends the wait before the next try of DEST, or of every destination, and says
            where there is none to be made. Returns at once; 'uplinkctl status' shows what
            came of it.
            """
    ) { invocation, console in
        ofDestinations(invocation, console, "flush", body: nil) { $0.whatFlushDoes }
    }

    static let pause = Command(
        name: "pause", operand: "DEST",
        options: [CommandOption(name: "--for", value: "D", summary: "only for so long: 30s, 5min, 2h")],
        summary: "stop sending to a destination, or to all",
        details: """
            Events for DEST, or for every destination, are kept until 'uplinkctl resume',
            until the time of --for is over, or until the daemon is started anew.
            """
    ) { invocation, console in
        var body: [UInt8]?
        if let span = invocation.options["--for"] {
            var json = JSONWriter()
            json.beginObject()
            json.member("for", span)
            json.endObject()
            body = json.bytes
        }
        return ofDestinations(invocation, console, "pause", body: body) { _ in "is paused" }
    }

    static let resume = Command(
        name: "resume", operand: "DEST", options: [],
        summary: "let a destination, or all of them, go on",
        details: """
            Ends a pause of DEST, or of every destination, and every wait, that of a held
            one as well: it is tried at once.
            """
    ) { invocation, console in
        ofDestinations(invocation, console, "resume", body: nil) { _ in "is tried now" }
    }

    /// Posts the same to one destination, or to all that are configured.
    private static func ofDestinations(
        _ invocation: Invocation, _ console: Console, _ word: String, body: [UInt8]?,
        _ sentence: (StatusDocument.Destination) -> String
    ) -> ExitStatus {
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            let known = try daemon.exchange(method: "GET", target: "/v1/status", within: plainTimeLimit)
            guard known.status == 200, let status = StatusDocument(known.body) else {
                return console.complain(known, of: .control)
            }
            let destinations = status.destinations.filter { $0.isConfigured }
            let names = destinations.map(\.name)
            if let wanted = invocation.operand, !names.contains(wanted) {
                return console.complain(unknownDestination: wanted, among: names)
            }
            for one in destinations where one.name == invocation.operand ?? one.name {
                let answer = try daemon.exchange(
                    method: "POST", target: "/v1/destinations/\(one.name)/\(word)", body: body,
                    within: plainTimeLimit)
                guard answer.status < 300 else { return console.complain(answer, of: .control) }
                if invocation.has("--json") {
                    console.write(json: answer.body)
                } else {
                    console.write(line: "\(one.name) \(sentence(one))")
                }
            }
            return .success
        } catch {
            return console.complain(error)
        }
    }
}

extension StatusDocument.Destination {
    fileprivate var whatFlushDoes: String {
        if state == "no-path" {
            return "cannot be tried, there is no path to it (\(reason)); it is as soon as there is one"
        }
        if flags.contains("paused") { return "is not tried, it is paused" }
        if state == "reachable", ledger["queued"] == 0 { return "has nothing to be sent" }
        if reason == "policy" {
            return "is sent only what NetworkTypes= lets leave" + (reasonDetail.map { ": \($0)" } ?? "")
        }
        return "is tried now"
    }

    /// It can be tried: its name is one that a configuration allows, and it still stands there.
    var isConfigured: Bool { name.isShortName && !flags.contains("removed") }
}

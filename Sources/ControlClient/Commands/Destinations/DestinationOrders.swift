internal import Bytes
internal import JSON

extension Command {
    /// Posts the same to one destination, or to all that are configured, and prints what comes of it: a word for
    /// programs, or a sentence.
    static func ofDestinations(
        _ invocation: Invocation, _ console: Console, _ word: String, body: [UInt8]? = nil,
        _ result: (StatusDocument.Destination) -> (outcome: String, sentence: String)
    ) -> ExitStatus {
        post(word, toDestinationsOf: invocation, console, body: body) { one, answer in
            guard answer.status < 300 else { return console.complain(answer, of: .control) }
            let (outcome, sentence) = result(one)
            if invocation.has("--json") {
                var json = JSONWriter()
                json.beginObject()
                json.member("destination", one.name)
                json.member("outcome", outcome)
                json.endObject()
                console.write(json: json.bytes)
            } else {
                console.write(line: "\(one.name) \(sentence)")
            }
            return nil
        }
    }

    /// Posts the same to one destination, or to all that are configured, and gives each answer to `take`, which says
    /// how to end where nothing more is to be posted.
    static func post(
        _ word: String, toDestinationsOf invocation: Invocation, _ console: Console, body: [UInt8]? = nil,
        within limit: Duration = plainTimeLimit, _ take: (StatusDocument.Destination, Answer) -> ExitStatus?
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
                    within: limit)
                if let end = take(one, answer) { return end }
            }
            return .success
        } catch {
            return console.complain(error)
        }
    }
}

extension StatusDocument.Destination {
    /// It can be tried: its name is one that a configuration allows, and it still stands there.
    var isConfigured: Bool { name.isShortName && !flags.contains("removed") }

    /// Why an order to send has nothing sent; nil where it has.
    var standsStill: (outcome: String, sentence: String)? {
        if state == "no-path" {
            return ("no-path", "cannot be tried, there is no path to it (\(reason)); it is as soon as there is one")
        }
        if flags.contains("paused") { return ("paused", "is not tried, it is paused") }
        if state == "reachable", ledger["queued"] == 0 { return ("nothing-queued", "has nothing to be sent") }
        if reason == "policy" {
            return ("policy", "is sent only what NetworkTypes= lets leave" + (reasonDetail.map { ": \($0)" } ?? ""))
        }
        if reason == "consent" {
            return ("consent", "is sent what consent allows" + (reasonDetail.map { "; \($0)" } ?? ""))
        }
        return nil
    }
}

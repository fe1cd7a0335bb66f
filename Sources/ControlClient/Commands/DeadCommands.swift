internal import Bytes
internal import JSON

extension Command {
    private static let of = CommandOption(name: "--destination", value: "DEST", summary: "only those of DEST")
    private static let everyLetter = CommandOption(name: "--all", value: nil, summary: "all dead letters")

    static let deadList = Command(
        name: "dead ls", operand: nil, options: [of],
        summary: "list events that a destination refused for good",
        details: """
            One dead letter a line: its id, the destination, the status of the answer, how
            often it was tried, when, and the start of the answer.
            """
    ) { invocation, console in
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            var after: String?
            var lines: [String] = []
            repeat {
                var parameters: [String] = []
                if let name = invocation.options["--destination"] { parameters.append("destination=" + escaped(name)) }
                if let after { parameters.append("after=" + escaped(after)) }
                let query = parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&")
                let answer = try daemon.exchange(method: "GET", target: "/v1/dead" + query, within: plainTimeLimit)
                guard answer.status == 200, let page = try? JSONValue(parsing: answer.body) else {
                    return console.complain(answer, of: .control)
                }
                if invocation.has("--json") {
                    console.write(json: answer.body)
                } else {
                    for letter in page["dead"]?.array ?? [] { lines.append(line(of: letter)) }
                }
                after = page["next"]?.string
                // The daemon may have closed the connection meanwhile.
                if after != nil, !answer.keepsAlive {
                    daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
                }
            } while after != nil
            for line in lines { console.write(line: line) }
            return .success
        } catch {
            return console.complain(error)
        }
    }

    static let deadShow = Command(
        name: "dead show", operand: "ID", leastOperands: 1, options: [of],
        summary: "show a dead letter with its event",
        details: """
            Prints all that is known of the dead letter of an event, and the event itself,
            as JSON; a letter for each destination that refused it.
            """
    ) { invocation, console in
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            let query = invocation.options["--destination"].map { "?destination=" + escaped($0) } ?? ""
            let answer = try daemon.exchange(
                method: "GET", target: "/v1/dead/" + escaped(invocation.operands[0]) + query, within: plainTimeLimit)
            guard answer.status == 200 else { return console.complain(answer, of: .control) }
            console.write(json: answer.body)
            return .success
        } catch {
            return console.complain(error)
        }
    }

    static let deadRetry = Command(
        name: "dead retry", operand: "ID...", mostOperands: 1_000, options: [everyLetter, of],
        summary: "send dead letters again, with their ids",
        details: """
            Has the dead letters of these events, or with --all every one, sent again, each
            alone. What is refused again is a dead letter again.
            """
    ) { invocation, console in
        dispose(invocation, console, "retry") { "to be sent again: \(Quantity.count($0))" }
    }

    static let deadDrop = Command(
        name: "dead drop", operand: "ID...", mostOperands: 1_000, options: [everyLetter, of],
        summary: "throw dead letters away",
        details: """
            Throws the dead letters of these events, or with --all every one, away for
            good. They count as purged.
            """
    ) { invocation, console in
        dispose(invocation, console, "drop") { "thrown away: \(Quantity.count($0))" }
    }

    private static func dispose(
        _ invocation: Invocation, _ console: Console, _ word: String, _ sentence: (Int64) -> String
    ) -> ExitStatus {
        guard invocation.has("--all") == invocation.operands.isEmpty else {
            console.complain("dead \(word) takes ids, or --all")
            return .usage
        }
        var json = JSONWriter()
        json.beginObject()
        if invocation.has("--all") {
            json.member("all", true)
        } else {
            json.name("ids")
            json.beginArray()
            for id in invocation.operands { json.string(id) }
            json.endArray()
        }
        if let name = invocation.options["--destination"] { json.member("destination", name) }
        json.endObject()
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            let answer = try daemon.exchange(
                method: "POST", target: "/v1/dead/\(word)", body: json.bytes, within: .seconds(60))
            guard answer.status == 200, let value = try? JSONValue(parsing: answer.body) else {
                return console.complain(answer, of: .control)
            }
            if invocation.has("--json") {
                console.write(json: answer.body)
            } else {
                console.write(line: sentence(value["count"]?.integer ?? 0))
            }
            return .success
        } catch {
            return console.complain(error)
        }
    }

    /// `ID  DEST  STATUS  N tries  TIME  DETAIL`; what the collector said is escaped.
    private static func line(of letter: JSONValue) -> String {
        let tries = letter["attempts"]?.integer ?? 0
        let parts = [
            letter["id"]?.string ?? "", letter["destination"]?.string ?? "",
            letter["status"]?.integer.map { "\($0)" } ?? "-", tries == 1 ? "1 try" : "\(tries) tries",
            letter["at"]?.string ?? "",
            letter["retried"] == .boolean(true)
                ? "(to be sent again)" : String((letter["detail"]?.string ?? "").prefix(80)),
        ]
        return parts.joined(separator: "  ").printable
    }

    /// Percent-encoded for a path or a query.
    private static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            let isPlain =
                (48...57).contains(byte) || (97...122).contains(byte.lowercased) || [45, 46, 95].contains(byte)
            if isPlain {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes += Hexadecimal.digits(UInt64(byte), count: 2)
            }
        }
        return bytes.text
    }
}

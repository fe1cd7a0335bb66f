internal import JSON

extension Command {
    static let destinationForget = Command(
        name: "destination forget", operand: "NAME", leastOperands: 1, options: [],
        summary: "give up what is kept for a removed destination",
        details: """
            Throws away, for good, the events and dead letters of NAME, which is no longer
            in the configuration. They count as purged.
            """
    ) { invocation, console in
        post(invocation, console, "forget", body: nil) { name, answer in
            "\(name) is forgotten; events given up: \(Quantity.count(answer["count"]?.integer ?? 0))"
        }
    }

    static let destinationRename = Command(
        name: "destination rename", operand: "OLD NEW", leastOperands: 2, mostOperands: 2, options: [],
        summary: "keep for NEW what is kept for OLD",
        details: """
            For a destination that is to have another name: take its section out of the
            configuration and reload, rename, put it back under NEW and reload again.
            NEW goes on where OLD stood.
            """
    ) { invocation, console in
        var json = JSONWriter()
        json.beginObject()
        json.member("to", invocation.operands[1])
        json.endObject()
        return post(invocation, console, "rename", body: json.bytes) { name, _ in
            "\(name) is \(invocation.operands[1]) now"
        }
    }

    private static func post(
        _ invocation: Invocation, _ console: Console, _ word: String, body: [UInt8]?,
        _ sentence: (String, JSONValue) -> String
    ) -> ExitStatus {
        let name = invocation.operands[0]
        guard name.utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || $0 == 45 }), !name.isEmpty
        else {
            console.complain("no destination is named '\(name)'")
            return .failed
        }
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            let answer = try daemon.exchange(
                method: "POST", target: "/v1/destinations/\(name)/\(word)", body: body, within: .seconds(60))
            guard answer.status == 200, let value = try? JSONValue(parsing: answer.body) else {
                return console.complain(answer, of: .control)
            }
            if invocation.has("--json") {
                console.write(json: answer.body)
            } else {
                console.write(line: sentence(name, value))
            }
            return .success
        } catch {
            return console.complain(error)
        }
    }
}

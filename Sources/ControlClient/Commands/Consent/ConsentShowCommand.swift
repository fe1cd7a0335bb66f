internal import JSON

extension Command {
    static let consentShow = Command(
        name: "consent show", operand: nil, options: [],
        summary: "list the consent categories and their states",
        details: """
            One category a line: each that was ever used, is named in the configuration, or
            was set. allow: its events are stored and sent; hold: they are stored, and sent
            once that is allowed; deny: they are refused.
            """
    ) { invocation, console in
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            let answer = try daemon.exchange(method: "GET", target: "/v1/status", within: plainTimeLimit)
            guard answer.status == 200, let status = try? JSONValue(parsing: answer.body) else {
                return console.complain(answer, of: .control)
            }
            let categories = status["consent"]?.members ?? []
            if invocation.has("--json") {
                var json = JSONWriter()
                json.beginObject()
                json.name("consent")
                json.beginObject()
                for category in categories { json.member(category.name, category.value.string) }
                json.endObject()
                json.endObject()
                console.write(json: json.bytes)
            } else {
                if categories.isEmpty { console.write(line: "no category of consent is known") }
                for category in categories {
                    console.write(line: "\(category.name)  \(category.value.string ?? "?")".printable)
                }
                if let detail = status["consent_detail"]?.string { console.complain(detail) }
            }
            return .success
        } catch {
            return console.complain(error)
        }
    }
}

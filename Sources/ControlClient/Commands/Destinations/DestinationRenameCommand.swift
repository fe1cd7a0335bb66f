internal import JSON

extension Command {
    static let destinationRename = Command(
        name: "destination rename", operand: "OLD NEW", leastOperands: 2, mostOperands: 2,
        candidates: [.removedDestinations, .none], options: [],
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
        let target = "/v1/destinations/\(invocation.operands[0].percentEncoded)/rename"
        return console.ask("POST", target, body: json.bytes, within: orderTimeLimit, for: invocation) { _ in
            "\(invocation.operands[0]) is \(invocation.operands[1]) now".printable
        }
    }
}

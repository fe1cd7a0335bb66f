internal import JSON

extension Command {
    static let pause = Command(
        name: "pause", operand: "DEST", candidates: [.destinations],
        options: [CommandOption(name: "--for", value: "D", summary: "only for so long: 30s, 5min, 2h")],
        summary: "stop sending to a destination, or to all",
        details: """
            Events for DEST, or for every destination, are kept until 'uplinkctl resume',
            until the time of --for is over, or until the daemon is started anew.
            """
    ) { invocation, console in
        let span = invocation.options["--for"]
        if let refusal = console.refuse(span: span, of: "--for", upTo: .seconds(366 * 86_400)) { return refusal }
        var json = JSONWriter()
        json.beginObject()
        json.member(given: "for", span)
        json.endObject()
        return ofDestinations(invocation, console, "pause", body: json.bytes) { _ in ("paused", "is paused") }
    }
}

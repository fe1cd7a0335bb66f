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
        var json = JSONWriter()
        json.beginObject()
        json.member(given: "for", invocation.options["--for"])
        json.endObject()
        return ofDestinations(invocation, console, "pause", body: json.bytes) { _ in "is paused" }
    }
}

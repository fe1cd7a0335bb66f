internal import JSON

extension CommandOption {
    static let ofDestination = CommandOption(
        name: "--destination", value: "DEST", summary: "only those of DEST", candidates: .destinations)
    static let everyLetter = CommandOption(name: "--all", value: nil, summary: "all dead letters")
}

extension Invocation {
    /// Which dead letters are meant, as the daemon is told; nil where neither ids nor `--all` are given, or both.
    var letters: [UInt8]? {
        guard has(CommandOption.everyLetter.name) == operands.isEmpty else { return nil }
        var json = JSONWriter()
        json.beginObject()
        if operands.isEmpty {
            json.member("all", true)
        } else {
            json.name("ids")
            json.beginArray()
            for id in operands { json.string(id) }
            json.endArray()
        }
        json.member(given: "destination", options[CommandOption.ofDestination.name])
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes a member where there is a value.
    mutating func member(given name: String, _ value: String?) {
        if let value { member(name, value) }
    }
}

internal import Bytes
internal import JSON

extension Command {
    static let purge = Command(
        name: "purge", operand: nil,
        options: [
            CommandOption(
                name: "--consent", value: "CATEGORY", summary: "all events of a consent category",
                candidates: .consentCategories),
            CommandOption(name: "--id", value: "ID", summary: "one event"),
            .yes,
        ],
        choice: ["--consent", "--id"],
        summary: "take events out of the queue and off the disk",
        details: """
            Throws all events of a consent category, or one event, away for good, dead
            letters and copies of damaged bytes as well: when it returns 0 they are gone
            from the disk. Each destination counts those that it still had as purged. It
            asks first; --yes answers.
            """
    ) { invocation, console in
        let (category, id) = (invocation.options["--consent"], invocation.options["--id"])
        guard let wanted = category ?? id, category == nil || id == nil else {
            console.complain("purge takes either --consent CATEGORY or --id ID")
            return .usage
        }
        if let refusal = console.refuse(category: category) { return refusal }
        let what = category == nil ? "the event \(wanted)" : "all events of \(wanted)"
        if let refusal = console.confirm("Throw \(what) away for good?", invocation) { return refusal }
        var json = JSONWriter()
        json.beginObject()
        json.member(category == nil ? "id" : "consent", wanted)
        json.endObject()
        let known = category == nil ? nil : categories(invocation, console)
        let status = console.ask(
            "POST", "/v1/purge", body: json.bytes, within: orderTimeLimit, for: invocation
        ) { answer in
            let count = answer["purged"]?.integer ?? 0
            let remark = count == 0 ? "; no destination had anything of it, or not any more" : ""
            return "events purged: \(Quantity.count(count))" + remark
        }
        if status == .success, let known, !known.contains(wanted) {
            console.complain("no category of consent is known as '\(wanted)'" + hint(wanted, among: known))
        }
        return status
    }

    /// The categories that the daemon knows; nil where it does not tell.
    private static func categories(_ invocation: Invocation, _ console: Console) -> [String]? {
        guard var daemon = try? DaemonConnection(DaemonSocket.control.path(invocation, console)),
            let answer = try? daemon.exchange(method: "GET", target: "/v1/status", within: plainTimeLimit)
        else { return nil }
        return StatusDocument(answer.body)?.consent.map(\.category)
    }
}

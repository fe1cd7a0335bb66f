internal import Bytes
internal import Configuration
internal import JSON

extension Command {
    private static let consentStates = ConsentSection.State.allCases.map(\.rawValue)

    static let consentSet = Command(
        name: "consent set", operand: "CATEGORY STATE", leastOperands: 2, mostOperands: 2,
        candidates: [.consentCategories, .words(consentStates)], options: [.yes],
        summary: "allow, hold or deny the events of a category",
        details: """
            Sets the state of a category until it is set again, over restarts and whatever
            the configuration says: allow, hold or deny. deny refuses new events and throws
            those that wait away for good, dead letters as well: when it returns 0 they are
            gone from the disk. It asks first; --yes answers.
            """
    ) { invocation, console in
        let (category, state) = (invocation.operands[0], invocation.operands[1])
        guard consentStates.contains(state) else {
            console.complain("a state is allow, hold or deny, not '\(state)'" + hint(state, among: consentStates))
            return .usage
        }
        if let refusal = console.refuse(category: category) { return refusal }
        let question = "Refuse new events of \(category) from now on, and throw all that are kept away for good?"
        if state == "deny", let refusal = console.confirm(question, invocation) { return refusal }
        var json = JSONWriter()
        json.beginObject()
        json.member("state", state)
        json.endObject()
        return console.ask(
            "PUT", "/v1/consent/\(category.percentEncoded)", body: json.bytes, within: orderTimeLimit, for: invocation
        ) { answer in
            let purged = Quantity.count(answer["purged"]?.integer ?? 0)
            return "\(category): \(state)" + (state == "deny" ? "; events purged: \(purged)" : "")
        }
    }
}

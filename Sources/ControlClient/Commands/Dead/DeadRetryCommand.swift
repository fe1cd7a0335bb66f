internal import JSON

extension Command {
    static let deadRetry = Command(
        name: "dead retry", operand: "ID...", mostOperands: 1_000, candidates: [.deadLetters],
        options: [.everyLetter, .ofDestination],
        summary: "send dead letters again, with their ids",
        details: """
            Has the dead letters of these events, or with --all every one, sent again, each
            alone. What is refused again is a dead letter again.
            """
    ) { invocation, console in
        guard let letters = invocation.letters else {
            console.complain("dead retry takes ids, or --all")
            return .usage
        }
        return console.ask("POST", "/v1/dead/retry", body: letters, within: orderTimeLimit, for: invocation) { answer in
            "to be sent again: \(Quantity.count(answer["count"]?.integer ?? 0))"
        }
    }
}

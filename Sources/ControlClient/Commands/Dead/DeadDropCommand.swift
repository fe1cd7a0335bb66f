internal import JSON

extension Command {
    static let deadDrop = Command(
        name: "dead drop", operand: "ID...", mostOperands: 1_000, candidates: [.deadLetters],
        options: [.everyLetter, .ofDestination, .yes],
        summary: "throw dead letters away",
        details: """
            Throws the dead letters of these events, or with --all every one, away for
            good. They count as purged. Asks first; --yes answers.
            """
    ) { invocation, console in
        guard let letters = invocation.letters else {
            console.complain("dead drop takes ids, or --all")
            return .usage
        }
        let count = invocation.operands.count
        let what = count == 0 ? "all dead letters" : count == 1 ? "the dead letter" : "\(count) dead letters"
        let of = invocation.options["--destination"].map { " of \($0)" } ?? ""
        if let refusal = console.confirm("Throw \(what)\(of) away for good?", invocation) { return refusal }
        return console.ask("POST", "/v1/dead/drop", body: letters, within: orderTimeLimit, for: invocation) { answer in
            "thrown away: \(Quantity.count(answer["count"]?.integer ?? 0))"
        }
    }
}

internal import JSON

extension Command {
    static let destinationForget = Command(
        name: "destination forget", operand: "NAME", leastOperands: 1, candidates: [.removedDestinations],
        options: [.yes],
        summary: "give up what is kept for a removed destination",
        details: """
            Throws away, for good, the events and dead letters of NAME, which is no longer
            in the configuration. They count as purged. Asks first; --yes answers.
            """
    ) { invocation, console in
        let name = invocation.operands[0]
        if let refusal = console.confirm("Throw all that is kept for \(name) away for good?", invocation) {
            return refusal
        }
        let target = "/v1/destinations/\(name.percentEncoded)/forget"
        return console.ask("POST", target, within: orderTimeLimit, for: invocation) { answer in
            "\(name.printable) is forgotten; events given up: \(Quantity.count(answer["count"]?.integer ?? 0))"
        }
    }
}

extension Command {
    static let queuePeek = Command(
        name: "queue peek", operand: "ID", leastOperands: 1, candidates: [.oldestEvents], options: [],
        summary: "show a queued event, and leave it where it is",
        details: """
            Prints the event of that id as it was posted, its lane, when it was accepted,
            and which destinations still have to get it, as JSON. Nothing is taken out.
            """
    ) { invocation, console in
        console.ask("GET", "/v1/queue/" + invocation.operands[0].percentEncoded, for: invocation)
    }
}

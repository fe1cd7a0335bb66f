extension Command {
    static let deadShow = Command(
        name: "dead show", operand: "ID", leastOperands: 1, candidates: [.deadLetters], options: [.ofDestination],
        summary: "show a dead letter with its event",
        details: """
            Prints all that is known of the dead letter of an event, and the event itself,
            as JSON; a letter for each destination that refused it.
            """
    ) { invocation, console in
        let name = invocation.options["--destination"]
        let query = name.map { "?destination=" + $0.percentEncoded } ?? ""
        return console.ask("GET", "/v1/dead/" + invocation.operands[0].percentEncoded + query, for: invocation)
    }
}

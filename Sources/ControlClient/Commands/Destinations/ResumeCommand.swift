extension Command {
    static let resume = Command(
        name: "resume", operand: "DEST", candidates: [.destinations], options: [],
        summary: "let a destination, or all of them, go on",
        details: """
            Ends a pause of DEST, or of every destination, and every wait, that of a held
            one as well: it is tried at once.
            """
    ) { invocation, console in
        ofDestinations(invocation, console, "resume") { _ in ("tried", "is tried now") }
    }
}

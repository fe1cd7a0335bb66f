extension Command {
    static let resume = Command(
        name: "resume", operand: "DEST", candidates: [.destinations], options: [],
        summary: "let a destination, or all of them, go on",
        details: """
            Ends a pause of DEST, or of every destination, and every wait, that of a held
            one as well: it is tried at once, or it is said why there is nothing to try.
            """
    ) { invocation, console in
        ofDestinations(invocation, console, "resume") { one in
            var resumed = one
            resumed.flags.removeAll { $0 == "paused" }
            guard let (outcome, sentence) = resumed.standsStill else { return ("tried", "is tried now") }
            return (outcome, resumed.flags == one.flags ? sentence : "goes on; it \(sentence)")
        }
    }
}

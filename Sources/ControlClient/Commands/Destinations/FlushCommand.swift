extension Command {
    static let flush = Command(
        name: "flush", operand: "DEST", candidates: [.destinations], options: [],
        summary: "try a destination, or all of them, at once",
        details: """
            Ends the wait before the next try of DEST, or of every destination, and says
            where there is none to be made. Returns at once; 'uplinkctl status' shows what
            came of it.
            """
    ) { invocation, console in
        ofDestinations(invocation, console, "flush") { $0.whatFlushDoes }
    }
}

extension StatusDocument.Destination {
    fileprivate var whatFlushDoes: String {
        if state == "no-path" {
            return "cannot be tried, there is no path to it (\(reason)); it is as soon as there is one"
        }
        if flags.contains("paused") { return "is not tried, it is paused" }
        if state == "reachable", ledger["queued"] == 0 { return "has nothing to be sent" }
        if reason == "policy" {
            return "is sent only what NetworkTypes= lets leave" + (reasonDetail.map { ": \($0)" } ?? "")
        }
        if reason == "consent" {
            return "is sent what consent allows" + (reasonDetail.map { "; \($0)" } ?? "")
        }
        return "is tried now"
    }
}

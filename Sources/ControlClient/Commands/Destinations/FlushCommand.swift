internal import Posix

extension Command {
    static let flush = Command(
        name: "flush", operand: "DEST", candidates: [.destinations], options: [],
        summary: "try a destination, or all of them, at once",
        details: """
            Ends the wait before the next try of DEST, or of every destination, and says
            where there is none to be made. Returns at once; on a terminal it shows how
            what waits is leaving, until nothing does or it stands still. Ctrl-C ends only
            the showing. 'uplinkctl status' shows what came of it.
            """
    ) { invocation, console in
        var tried: [StatusDocument.Destination] = []
        let status = ofDestinations(invocation, console, "flush") { one in
            if let why = one.standsStill { return why }
            tried.append(one)
            return ("tried", "is tried now")
        }
        if status == .success, console.showsProgress, !invocation.has("--json") {
            watch(tried, invocation, console)
        }
        return status
    }

    /// Shows how what is queued for these leaves; a daemon that does not answer ends it.
    private static func watch(
        _ destinations: [StatusDocument.Destination], _ invocation: Invocation, _ console: Console
    ) {
        var draining = Draining(destinations, at: Clock.now)
        let progress = Progress(console, "events have left")
        defer { progress.clear() }
        while draining.total > 0 {
            Clock.sleep(.milliseconds(200))
            guard var daemon = try? DaemonConnection(DaemonSocket.control.path(invocation, console)),
                let answer = try? daemon.exchange(method: "GET", target: "/v1/status", within: plainTimeLimit),
                let status = StatusDocument(answer.body), !draining.take(status, at: Clock.now)
            else { return }
            progress.show(draining.done, of: draining.total)
        }
    }
}

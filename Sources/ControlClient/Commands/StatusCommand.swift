internal import Posix

extension Command {
    static let status = Command(
        name: "status", operand: nil,
        options: [CommandOption(name: "--check", value: nil, summary: "exit with 4 if something needs a person")],
        summary: "how daemon, network and destinations are",
        details: """
            Shows on one screen what the daemon knows. With --check the exit status is 4
            when a destination is held, a dead letter lies there, events are kept for a
            destination that is no longer configured, a certificate file cannot be used,
            a collector's certificate has been refused for an hour whenever it was shown
            (self-signed, of an unknown issuer, for another name, or expired while this
            machine's clock is synchronised), or storage fails or is full, so that events
            are refused; never for being offline. It is 3 when the daemon is not running,
            69 when it does not answer.
            """
    ) { invocation, console in
        let answer: Answer
        var isReady = true
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            answer = try daemon.exchange(method: "GET", target: "/v1/status", within: plainTimeLimit)
            if answer.status == 200 {
                let ready = try? daemon.exchange(method: "GET", target: "/readyz", within: plainTimeLimit)
                isReady = ready?.status != 503
            }
        } catch {
            _ = console.complain(error)
            return error.exitStatusOfStatus
        }
        guard answer.status == 200 else { return console.complain(answer, of: .control) }
        guard var status = StatusDocument(answer.body) else {
            console.complain("the daemon's status is not understood")
            return .failed
        }
        status.isReady = isReady
        let now = Clock.wall
        if invocation.has("--json") {
            console.write(json: answer.body)
        } else {
            let screen = StatusScreen(status, now: now, usesColour: console.usesColour)
            console.write(Array(screen.text.utf8))
        }
        return invocation.has("--check") && !Attention.reasons(status, now: now).isEmpty ? .needsAttention : .success
    }
}

internal import Configuration
internal import Posix
internal import Queue

extension Command {
    static let verify = Command(
        name: "verify", operand: "DIR", candidates: [.directories], options: [],
        summary: "read a whole queue and name what is damaged",
        details: """
            Reads every byte of the queue in DIR and says what is there and damaged. Without
            DIR it looks into the directory of the daemon that runs, or else the configured
            one. Changes nothing; the daemon may be running or not. The exit status is 0
            when all is sound, 1 when something is damaged, or is not a queue. The end of a
            write that was cut off is no damage.
            """
    ) { invocation, console in
        withQueue(invocation, console) { inspection throws(QueueError) in
            let progress = Progress(console, "segments read")
            let verification = try inspection.verify { progress.show(Int64($0), of: Int64($1)) }
            progress.clear()
            let report = VerificationReport(inspection.directory, verification)
            if invocation.has("--json") {
                console.write(json: report.json)
            } else {
                console.write(Array(report.text.utf8))
            }
            return verification.faults.isEmpty ? .success : .failed
        }
    }

    /// The directory of the daemon that runs, or else the configured one, or else the default; and who says so.
    private static func usualDirectory(_ invocation: Invocation, _ console: Console) -> (path: String, source: String) {
        if let path = runningDirectory(DaemonSocket.control.path(invocation, console)) { return (path, "the daemon's") }
        let file = console.environment("UPLINKD_CONFIG") ?? Configuration.usualPath
        if let found = Configuration.load(path: file).configuration {
            return (found.queue.directory, "as \(file) says")
        }
        return (Configuration().queue.directory, "the default: no daemon answers, and \(file) cannot be read")
    }

    private static func runningDirectory(_ socket: String) -> String? {
        do throws(ClientError) {
            var daemon = try DaemonConnection(socket)
            let answer = try daemon.exchange(method: "GET", target: "/v1/status", within: .seconds(3))
            return StatusDocument(answer.body)?.queueDirectory
        } catch {
            return nil
        }
    }

    /// Looks at the directory that the command line names, or else the usual one, and tells why it cannot.
    static func withQueue(
        _ invocation: Invocation, _ console: Console,
        _ body: (Inspection) throws(QueueError) -> ExitStatus
    ) -> ExitStatus {
        var directory: Substring
        if let named = invocation.operand {
            directory = Substring(named)
        } else {
            let usual = usualDirectory(invocation, console)
            console.complain("looking at \(usual.path), \(usual.source)")
            directory = Substring(usual.path)
        }
        while directory.count > 1, directory.hasSuffix("/") { directory.removeLast() }
        do throws(QueueError) {
            return try body(try Inspection(FileStorage(directory: String(directory))))
        } catch {
            console.complain(error.description)
            switch error {
            case .forbidden, .failed(_, _, _, .access), .failed(_, _, _, .permission): return .notAllowed
            default: return .failed
            }
        }
    }
}

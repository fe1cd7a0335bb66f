internal import Configuration
internal import Posix
internal import Queue

extension Command {
    static let verify = Command(
        name: "verify", operand: "DIR", options: [],
        summary: "read a whole queue and name what is damaged",
        details: """
            Reads every byte of the queue in DIR, the configured directory without it, and
            says what is there and what is damaged. Changes nothing; the daemon may be
            running or not. The exit status is 0 when all is sound, 1 when something is
            damaged, or is not a queue. The end of a write that was cut off is no damage.
            """
    ) { invocation, console in
        withQueue(invocation, console) { inspection throws(QueueError) in
            let verification = try inspection.verify()
            let report = VerificationReport(inspection.directory, verification)
            if invocation.has("--json") {
                console.write(json: report.json)
            } else {
                console.write(Array(report.text.utf8))
            }
            return verification.faults.isEmpty ? .success : .failed
        }
    }

    /// The queue's directory as the daemon's configuration has it; the default where it cannot be read.
    private static func configuredDirectory(_ console: Console) -> String {
        let file = console.environment("UPLINKD_CONFIG") ?? "/etc/uplinkd/uplinkd.conf"
        return (Configuration.load(path: file).configuration ?? Configuration()).queue.directory
    }

    /// Looks at the directory that the command line names and tells why it cannot.
    static func withQueue(
        _ invocation: Invocation, _ console: Console,
        _ body: (Inspection) throws(QueueError) -> ExitStatus
    ) -> ExitStatus {
        var directory = Substring(invocation.operand ?? configuredDirectory(console))
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

internal import Posix

/// The operator's tool.
package enum Uplinkctl {
    /// Runs the command that `arguments` ask for, without the program's name; the exit status.
    package static func run(_ arguments: [String], version: String, on console: Console) -> ExitStatus {
        if arguments.first == "--complete" {
            for line in Completion(Array(arguments.dropFirst()), table: Command.all).lines(console) {
                console.write(line: line)
            }
            return .success
        }
        let request: Request
        do throws(UsageError) {
            request = try Request(arguments, table: Command.all)
        } catch {
            console.complain(error.message)
            return .usage
        }
        let status: ExitStatus
        switch request {
        case .version:
            console.write(line: "uplinkctl \(version)")
            status = .success
        case .help(let command):
            console.write(Array((command.map { Help.text(of: $0) } ?? Help.text(table: Command.all)).utf8))
            status = .success
        case .helpOnGroup(let group):
            console.write(Array(Help.text(ofGroup: group, table: Command.all).utf8))
            status = .success
        case .run(let command, let invocation): status = command.run(invocation, console)
        }
        guard let failure = console.outputFailure, failure != .brokenPipe else { return status }
        console.complain("standard output: \(failure)")
        return .failed
    }

    /// Runs in this process and ends it.
    package static func main(_ arguments: [String], version: String) -> Never {
        Process.ignoreFatalWriteSignals()
        Process.exit(run(arguments, version: version, on: .ofProcess()).rawValue)
    }
}

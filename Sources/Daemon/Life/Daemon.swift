internal import Bytes
internal import Configuration
internal import Posix
internal import Version

/// The daemon from its first instruction to its exit status.
package enum Daemon {
    /// Does what the arguments say, the program's name left out.
    package static func run(_ arguments: [String]) -> ExitStatus {
        let command = DaemonCommand(arguments, environment: Process.environment("UPLINKD_CONFIG"))
        switch command.action {
        case .version: return say("uplinkd \(Version.text)\n", on: .output, .stopped)
        case .help: return say(DaemonCommand.help, on: .output, .stopped)
        case .misused(let what): return say("uplinkd: \(what)\n\n" + DaemonCommand.help, on: .error, .usage)
        case .check:
            let loaded = LoadedSettings(path: command.configurationPath)
            let text = (loaded.problems + loaded.fileProblems).map { "\($0)\n" }.joined()
            return say(text, on: .error, loaded.configuration == nil ? .configuration : .stopped)
        case .run: return Startup(configurationPath: command.configurationPath).run()
        }
    }

    private static func say(_ text: String, on stream: StandardStream, _ status: ExitStatus) -> ExitStatus {
        try? stream.write(Array(text.utf8))
        return status
    }
}

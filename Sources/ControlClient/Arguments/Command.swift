/// An option of a command, or one that every command takes.
struct CommandOption: Sendable {
    /// With its two dashes.
    let name: String
    /// What stands for its value in help; nil where it takes none.
    let value: String?
    let summary: String
    /// What its value may be.
    var candidates = Candidates.none

    /// Its name and value as help shows them.
    var usage: String { value.map { "\(name) \($0)" } ?? name }

    /// Those that every command takes.
    static let common = [
        CommandOption(name: "--socket", value: "PATH", summary: "talk to the daemon at PATH", candidates: .files),
        CommandOption(name: "--json", value: nil, summary: "print JSON, of the shape that control.md has"),
        CommandOption(name: "--no-pager", value: nil, summary: "accepted; output is never paged"),
        CommandOption(name: "--help", value: nil, summary: "explain a command, or list them all"),
        CommandOption(name: "--version", value: nil, summary: "print the version"),
    ]

    /// Those that mean something to a command that talks to the daemon by that socket, or does not.
    static func common(over socket: DaemonSocket?) -> [CommandOption] {
        let rest = common.filter { $0.name != "--socket" }
        guard let socket else { return rest }
        let summary = "talk to the daemon at PATH, its \(socket.name)"
        return [CommandOption(name: "--socket", value: "PATH", summary: summary, candidates: .files)] + rest
    }
}

/// A command: one row of the table that parsing, help, the manual page and completion are made from.
struct Command: Sendable {
    /// One word, or two: `dead ls`.
    let name: String
    /// What follows its name in help, besides options: `FILE|-`; in brackets unless `leastOperands` is above 0.
    let operand: String?
    var leastOperands = 0
    var mostOperands = 1
    /// What each operand may be; the last goes for those behind it as well.
    var candidates: [Candidates] = []
    let options: [CommandOption]
    /// Of these options exactly one is to be given.
    var choice: [String] = []
    /// The one that it talks to the daemon by; nil where it does not.
    var socket: DaemonSocket? = .control
    let summary: String
    /// What else help says.
    let details: String
    let run: @Sendable (Invocation, Console) -> ExitStatus

    /// `send [FILE|-]`.
    var synopsis: String {
        ([name] + (operand.map { [leastOperands > 0 ? $0 : "[\($0)]"] } ?? [])).joined(separator: " ")
    }

    /// `send [--lane LANE] [FILE|-]`, `purge (--consent CATEGORY | --id ID) [--yes]`.
    var usage: String {
        let chosen = options.filter { choice.contains($0.name) }.map(\.usage).joined(separator: " | ")
        let free = options.filter { !choice.contains($0.name) }.map { "[\($0.usage)]" }
        let words = [name] + (chosen.isEmpty ? [] : ["(\(chosen))"]) + free
        return (words + [synopsis.dropFirst(name.count + 1)].filter { !$0.isEmpty }.map(String.init))
            .joined(separator: " ")
    }

    /// Its own options, and those of every command that mean something to it.
    var allOptions: [CommandOption] { options + CommandOption.common(over: socket) }
}

/// A command line, understood.
struct Invocation {
    /// By name, with dashes; an option without a value has "".
    let options: [String: String]
    let operands: [String]

    /// The first operand.
    var operand: String? { operands.first }

    /// True where that option was given.
    func has(_ option: String) -> Bool { options[option] != nil }
}

/// An option of a command, or one that every command takes.
struct CommandOption: Sendable {
    /// With its two dashes.
    let name: String
    /// What stands for its value in help; nil where it takes none.
    let value: String?
    let summary: String

    /// Its name and value as help shows them.
    var usage: String { value.map { "\(name) \($0)" } ?? name }

    /// Those that every command takes.
    static let common = [
        CommandOption(name: "--socket", value: "PATH", summary: "talk to the daemon at PATH"),
        CommandOption(name: "--json", value: nil, summary: "print JSON, as the daemon gives it"),
        CommandOption(name: "--no-pager", value: nil, summary: "accepted; output is never paged"),
        CommandOption(name: "--help", value: nil, summary: "explain a command, or list them all"),
        CommandOption(name: "--version", value: nil, summary: "print the version"),
    ]
}

/// A command: one row of the table that parsing and help are made from.
struct Command: Sendable {
    let name: String
    /// What follows its name in help, besides options: `[FILE|-]`.
    let operand: String?
    let options: [CommandOption]
    let summary: String
    /// What else help says.
    let details: String
    let run: @Sendable (Invocation, Console) -> ExitStatus

    /// `status [--check]`.
    var usage: String { usage(options.map { "[\($0.usage)]" }) }

    /// The same in a list of all: `send [OPTION]... [FILE|-]`.
    var shortUsage: String { options.count > 1 ? usage(["[OPTION]..."]) : usage }

    private func usage(_ options: [String]) -> String {
        ([name] + options + (operand.map { ["[\($0)]"] } ?? [])).joined(separator: " ")
    }
}

/// A command line, understood.
struct Invocation {
    /// By name, with dashes; an option without a value has "".
    let options: [String: String]
    let operand: String?

    /// True where that option was given.
    func has(_ option: String) -> Bool { options[option] != nil }
}

/// The text of `--help`, made from the command table; at most 80 columns.
enum Help {
    /// The overview.
    static func text(table: [Command]) -> String {
        """
        Usage: uplinkctl [OPTION]... COMMAND

        Looks after uplinkd, which keeps events on disk until their destinations have
        them.

        Commands:
        \(list(table.map { ($0.synopsis, $0.summary) }))
        Options:
        \(list(CommandOption.common.map { ($0.usage, $0.summary) }))
        Environment: UPLINKCTL_SOCKET (control socket), UPLINKD_SOCKET (events socket),
        UPLINKD_CONFIG (configuration), NO_COLOR.

        Exit status: 0 done, 1 failed, 2 usage, 3 daemon not running (status),
        4 something needs a person (status --check), 65 bad event, 69 daemon not
        reachable, 75 try later, 77 not allowed.

        """
    }

    /// All about one command.
    static func text(of command: Command) -> String {
        """
        Usage: uplinkctl \(command.usage)

        \(command.details)

        Options:
        \(list(command.allOptions.map { ($0.usage, $0.summary) }))
        """
    }

    /// The commands of a group, as those of `dead`.
    static func text(ofGroup group: String, table: [Command]) -> String {
        """
        Usage: uplinkctl \(group) COMMAND

        Commands:
        \(list(table.filter { $0.name.hasPrefix(group + " ") }.map { ($0.synopsis, $0.summary) }))
        'uplinkctl \(group) COMMAND --help' explains one.

        """
    }

    private static func list(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { left, right in
            "  \(left)\(String(repeating: " ", count: width - left.count))  \(right)\n"
        }.joined()
    }
}

internal import Posix

/// Where log lines go.
package enum LogTarget: Sendable, Equatable {
    /// Entries with fields, by sd_journal_sendv(3).
    case journal
    /// A line each on standard error; with `<priority>` before it where journald reads that.
    case standardError(withPriority: Bool)

    /// What decides it.
    struct Surroundings: Sendable {
        /// $JOURNAL_STREAM: `device:inode` of the stream that journald reads.
        var journalStream: String?
        /// `device:inode` of standard error.
        var standardError: String?
        /// $SYSTEMD_EXEC_PID: the process that systemd started.
        var systemdProcess: String?
        var process: Int32
        /// True where journald's socket exists.
        var hasJournal: Bool
    }

    /// The target for this process.
    ///
    /// The journal, where its socket exists and either standard error is its stream or systemd started this very
    /// process; a child that merely inherited the environment of a service writes to standard error. There, the
    /// priority is put before each line where standard error is journald's stream but its socket is out of reach.
    package static func chosen() -> LogTarget {
        chosen(
            Surroundings(
                journalStream: Process.environment("JOURNAL_STREAM"),
                standardError: streamOfStandardError(),
                systemdProcess: Process.environment("SYSTEMD_EXEC_PID"),
                process: Process.identifier,
                hasJournal: (try? FileSystem.status(of: "/run/systemd/journal/socket"))?.kind == .socket))
    }

    static func chosen(_ surroundings: Surroundings) -> LogTarget {
        let isStream = surroundings.journalStream != nil && surroundings.journalStream == surroundings.standardError
        let isService = surroundings.systemdProcess == String(surroundings.process)
        if surroundings.hasJournal, isStream || isService { return .journal }
        return .standardError(withPriority: isStream)
    }

    private static func streamOfStandardError() -> String? {
        guard let status = try? FileSystem.status(ofDescriptor: 2) else { return nil }
        return "\(status.device):\(status.inode)"
    }
}

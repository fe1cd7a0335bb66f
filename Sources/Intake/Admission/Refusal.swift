package import Queue

/// Why events are not taken now, and when to try again.
package struct Refusal: Sendable, Hashable {
    /// What kind of reason.
    package enum Reason: Sendable, Hashable {
        case full
        case diskSlow
        case diskError
        case stopping
        /// The unfinished requests of all clients hold as much as they may.
        case busy
    }

    package let reason: Reason
    /// The logs that it is about; empty: all.
    package let logs: [LogName]
    /// One sentence for clients, without a full stop.
    package let detail: String
    package let retryAfterSeconds: Int

    package init(_ reason: Reason, logs: [LogName] = [], detail: String, retryAfterSeconds: Int) {
        self.reason = reason
        self.logs = logs
        self.detail = detail
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// True where events for `log` are refused.
    package func applies(to log: LogName) -> Bool { logs.isEmpty || logs.contains(log) }

    static let stopping = Refusal(.stopping, detail: "the daemon is stopping", retryAfterSeconds: 5)
    static let busy = Refusal(
        .busy, detail: "the unfinished requests of all clients hold too much memory", retryAfterSeconds: 1)
}

/// What became of a sealed batch.
package enum BatchOutcome: Sendable, Hashable {
    /// It is durable: its events have the ids from `epoch`-`first` on.
    case durable(epoch: UInt64, first: UInt64)
    /// None of its events was taken.
    case refused(Refusal)
}

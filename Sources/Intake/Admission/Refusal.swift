package import Gates
package import Queue

/// Why events are not taken now, and when to try again.
package struct Refusal: Sendable, Hashable {
    /// What kind of reason.
    package enum Reason: Sendable, Hashable {
        case full
        case diskSlow
        case diskError
        case stopping
        /// Nothing of that consent category may be stored.
        case denied
        /// Events of that consent category are being purged.
        case purging
        /// There are as many consent categories as there may be.
        case tooManyCategories
        /// The unfinished requests of all clients hold as much as they may.
        case busy
    }

    package let reason: Reason
    /// The logs that it is about; empty: all.
    package let logs: [LogName]
    /// One sentence for clients, without a full stop.
    package let detail: String
    /// 0: trying again is of no use.
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

extension Refusal {
    /// Why consent keeps events of a category from being taken; nil where it does not.
    package init?(_ category: String, _ consent: Consent) {
        let logs = [LogName.consent(category)]
        if consent.state(of: category) == .deny {
            self.init(.denied, logs: logs, detail: "consent for \(category) is denied", retryAfterSeconds: 0)
        } else if consent.isPurging(category) {
            self.init(.purging, logs: logs, detail: "events of \(category) are being purged", retryAfterSeconds: 1)
        } else if !consent.hasRoom(for: category) {
            self.init(
                .tooManyCategories, logs: logs,
                detail: "there are \(Consent.maximumCategories) consent categories, and \(category) is none of them",
                retryAfterSeconds: 0)
        } else {
            return nil
        }
    }
}

/// What became of a sealed batch.
package enum BatchOutcome: Sendable, Hashable {
    /// It is durable: its events have the ids from `epoch`-`first` on.
    case durable(epoch: UInt64, first: UInt64)
    /// None of its events was taken.
    case refused(Refusal)
}

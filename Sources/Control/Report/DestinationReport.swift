package import Time

/// One destination as status shows it.
package struct DestinationReport: Sendable, Equatable {
    /// What stands beside the state; the raw values are what users see.
    package enum Flag: String, Sendable, CaseIterable {
        /// The collector asked for time.
        case throttled
        /// An answer stopped it that needs a person.
        case held
        /// An operator stopped it.
        case paused
        /// It is no longer in the configuration.
        case removed
    }

    /// What it shows of itself by `TokenFile=` or `Credential=`; the raw values are what users see.
    package enum Token: String, Sendable {
        /// Neither is configured.
        case none
        case good
        /// It could not be read, or holds none.
        case missing
    }

    /// What became of the events; `accepted` is the sum of the others.
    package struct Ledger: Sendable, Equatable {
        package var delivered: UInt64 = 0
        package var queued: UInt64 = 0
        package var dead: UInt64 = 0
        package var expired: UInt64 = 0
        package var evicted: UInt64 = 0
        package var purged: UInt64 = 0
        package var quarantined: UInt64 = 0
        package var accepted: UInt64 = 0

        /// All zero.
        package init() {}
    }

    /// The last try that failed.
    package struct Failure: Sendable, Equatable {
        /// The HTTP status; nil where no answer came.
        package var status: Int?
        /// What went wrong, for people; may quote the collector, so it is not to be trusted.
        package var detail: String
        /// Where a redirect pointed; not to be trusted either.
        package var location: String?
        package var at: WallTime?

        /// A failure of these parts.
        package init(status: Int?, detail: String, location: String?, at: WallTime?) {
            self.status = status
            self.detail = detail
            self.location = location
            self.at = at
        }
    }

    package var name: String
    /// A name of `DestinationState`: `unknown`, `no-path`, `verifying`, `unreachable`, `portal`, `reachable`.
    package var state: String
    /// A name of `StateReason`: `none`, `start`, `no-route`, ….
    package var reason: String
    /// Words for people beside it; may quote the collector, so it is not to be trusted.
    package var reasonDetail: String?
    /// When it came into that state.
    package var since: WallTime?
    package var flags: [Flag] = []
    package var ledger = Ledger()
    /// Age of the oldest queued event.
    package var oldestAge: Duration?
    package var lastSuccess: WallTime?
    package var lastError: Failure?
    /// Which file of certificates cannot be used, and why.
    package var fileFault: String?
    package var token = Token.none
    /// Since when its certificate was refused whenever it was shown.
    package var certificateRefusedSince: WallTime?
    package var nextAttemptAt: WallTime?
    /// Tries since the last success.
    package var attempts: UInt64 = 0
    /// Checks by what came of them; metrics only, as is the next.
    package var checks: [String: UInt64] = [:]
    /// Time spent in each state.
    package var stateSpans: [String: Duration] = [:]

    /// A destination of that name, with nothing to tell besides its state.
    package init(name: String, state: String, reason: String, since: WallTime?) {
        self.name = name
        self.state = state
        self.reason = reason
        self.since = since
    }
}

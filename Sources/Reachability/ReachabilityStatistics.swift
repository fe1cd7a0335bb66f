package import Time

/// What was counted of one destination since it is watched.
package struct ReachabilityStatistics: Hashable, Sendable {
    /// What came of a check; the raw values are what users see.
    package enum CheckResult: String, Sendable, CaseIterable {
        /// The destination answered.
        case answered
        /// Something else answered in its place.
        case portal
        /// No answer came.
        case failed
        /// It was given up, as its path was lost.
        case abandoned
    }

    /// Checks that ended.
    package internal(set) var checks: [CheckResult: UInt64] = [:]
    /// Time spent in states that were left.
    var spans: [DestinationState: Duration] = [:]
}

extension ReachabilityMachine {
    /// How long it has been in a state, all in all.
    package func span(in state: DestinationState, at now: Instant) -> Duration {
        (statistics.spans[state] ?? .zero) + (state == self.state ? now - since : .zero)
    }
}

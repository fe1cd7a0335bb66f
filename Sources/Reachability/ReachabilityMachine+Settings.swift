package import Time

extension ReachabilityMachine {
    /// Goes on under other settings; what is known of the way, and what is in flight, stays.
    ///
    /// The beat is re-armed. Where checks are turned off it asks for an attempt, so that delivery tries by itself from
    /// now on; where they are turned on and nothing has proved the path yet, for a check at once.
    package mutating func use(
        settings new: ReachabilitySettings, at now: Instant
    ) -> [ReachabilityEffect] {
        guard new != settings else { return [] }
        let turnsChecks = new.checks != settings.checks
        settings = new
        schedule.use(interval: new.checkInterval, at: now)
        var effects: [ReachabilityEffect] = []
        guard turnsChecks, pathIsThere else { return [] }
        if state != .reachable {
            pathTriggered(at: now, &effects)
        } else if !new.checks {
            effects.append(.attempt)
        }
        return effects
    }
}

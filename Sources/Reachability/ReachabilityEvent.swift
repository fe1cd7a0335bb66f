package import Bytes

/// What a destination's reachability is told.
package enum ReachabilityEvent: Sendable {
    /// The kernel was asked for the destination's addresses.
    case path(PathVerdict)
    /// No address is known yet; the kernel was asked for a default route instead.
    case defaultRoute(PathVerdict)
    /// The name has no addresses, or its lookup was given up; never where some are known from before.
    case resolutionFailed(String)
    /// The destination itself answered, at this address where it is known.
    case proved(by: IPAddress?)
    /// Something else answered in its place.
    case portal(String)
    /// A check or another request got no answer.
    case failed(StateReason, String)
    /// The check is over, whatever came of it; what came of it is told before.
    case checkEnded
    /// The machine slept.
    case resumed
    /// An operator wants to know now.
    case wanted
    /// `deadline` has come.
    case timer
}

/// What a destination's reachability asks for.
package enum ReachabilityEffect: Hashable, Sendable {
    /// Check now: by the first batch, or with nothing queued by a request of its own; then tell `checkEnded`.
    case check
    /// With checks turned off, try now what is queued; nothing where nothing is.
    case attempt
    /// Ask the kernel now and tell `path` or `defaultRoute`; `resolving`, ask the resolver, too.
    ///
    /// Ask it also where there is no default route: a name may stand in a file, or a name server be near. One to which
    /// there is no route gets no packet. Its answer, too, is told as `path`.
    case evaluate(resolving: Bool)
    /// Ask the kernel after the settling time.
    case markDirty
    /// State or reason changed.
    case changed(from: DestinationState, to: DestinationState, reason: StateReason)
    /// Send nothing more; `givingUpRequest`, those in flight, the check as well, can no longer get through.
    case pathLost(givingUpRequest: Bool)
    /// The path is as it was before `pathLost`, within the time in which a loss is not announced: go on.
    case pathBack
    /// Close idle connections; comes before what may begin a request on the new path.
    case dropConnections
    /// Sending may begin.
    case reachable(Outage)
}

/// How a destination came to be reachable.
package struct Outage: Hashable, Sendable {
    /// Where the fault lay.
    package enum Cause: Hashable, Sendable {
        /// It has not been reachable since the start.
        case start
        /// This machine's path was lost or changed.
        case ownLink
        /// The path was there throughout.
        case destination
    }

    package let duration: Duration
    package let cause: Cause

    package init(duration: Duration, cause: Cause) {
        self.duration = duration
        self.cause = cause
    }
}

/// What the connectivity gate says to events accepted now.
package enum Connectivity: Hashable, Sendable {
    /// The first check has not ended; marks nothing.
    case unknown
    case closed
    case open
}

/// How a destination is watched.
package struct ReachabilitySettings: Hashable, Sendable {
    /// False: no checks ever; delivery tries by itself.
    package let checks: Bool
    /// The longest time between two checks.
    package let checkInterval: Duration
    /// After which a check that was never reported as ended counts as ended.
    package let checkLimit: Duration

    package init(checks: Bool = true, checkInterval: Duration = .seconds(30), checkLimit: Duration = .seconds(90)) {
        precondition(checkInterval > .zero && checkLimit > .zero)
        self.checks = checks
        self.checkInterval = checkInterval
        self.checkLimit = checkLimit
    }
}

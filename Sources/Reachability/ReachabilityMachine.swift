internal import Bytes
package import Time

/// What is known of the way to one destination, and when to look again.
///
/// Only an answer of the destination makes it reachable; without a path nothing is sent; while it is reachable nothing
/// is checked. Confine it to one thread, handle `timer` when `deadline` has come, and carry out effects in their order.
package struct ReachabilityMachine: Sendable {
    static let lossHold = Duration.milliseconds(1_500)
    static let expiryMargin = Duration.milliseconds(100)

    package internal(set) var settings: ReachabilitySettings
    package internal(set) var state: DestinationState = .unknown
    package internal(set) var reason: StateReason = .start
    /// Words for people beside `reason`; empty where there are none.
    package internal(set) var detail = ""
    /// When `state` began.
    package internal(set) var since: Instant
    /// The path that is used, or was before it was lost.
    package internal(set) var candidate: Candidate?

    package internal(set) var statistics = ReachabilityStatistics()

    var schedule: CheckSchedule
    /// True where the last verdict allows sending to a known address.
    var pathIsThere = false
    var addressIsKnown = false
    var firstCheckEnded = false
    /// A look is under way at whose end a check is due.
    var checkIsDue = false
    var checkBegan: Instant?
    /// What came of the check in flight, as far as is known.
    var checkResult: ReachabilityStatistics.CheckResult?
    /// The check in flight says nothing of the path as it is now.
    var checkIsStale = false
    var lossDeadline: Instant?
    var lossReason: (StateReason, String) = (.none, "")
    var expiry: Instant?
    /// All of the last verdict.
    var candidates: [Candidate] = []
    /// The address of the last proof.
    var connected: IPAddress?
    var lastVerdictType: ConnectionType = .unknown
    var outageBegan: Instant
    var outageCause: Outage.Cause = .start

    /// A destination not looked at yet; its first deadline is now.
    package init(settings: ReachabilitySettings, seed: UInt64, now: Instant) {
        self.settings = settings
        since = now
        outageBegan = now
        schedule = CheckSchedule(interval: settings.checkInterval, seed: seed, now: now)
    }

    /// True while a check is in flight.
    package var isChecking: Bool { checkBegan != nil }

    /// When `timer` must be handled next.
    package var deadline: Instant? { [schedule.next, lossDeadline, expiry].compactMap { $0 }.min() }

    /// The link type of the last verdict; `none` once no path is announced.
    package var connectionType: ConnectionType { state == .noPath ? .none : lastVerdictType }

    /// True while batches may be sent; a check may be sent besides.
    ///
    /// A path lost a moment ago, which is not announced yet, already forbids it. With checks turned off a path to a
    /// known address suffices.
    package var maySend: Bool {
        guard lossDeadline == nil else { return false }
        return settings.checks ? state == .reachable : pathIsThere
    }

    /// What the gate says to events accepted now; follows what is announced.
    package var connectivity: Connectivity {
        switch state {
        case .unknown: .unknown
        case .reachable: .open
        case .noPath: .closed
        case .verifying, .unreachable, .portal:
            if settings.checks {
                firstCheckEnded ? .closed : .unknown
            } else {
                addressIsKnown ? .open : .closed
            }
        }
    }

    /// Takes an event, and says what is to be done.
    package mutating func handle(_ event: ReachabilityEvent, at now: Instant) -> [ReachabilityEffect] {
        var effects: [ReachabilityEffect] = []
        switch event {
        case .path(let verdict): took(verdict, at: now, &effects)
        case .defaultRoute(let verdict): tookDefaultRoute(verdict, at: now, &effects)
        case .resolutionFailed(let text): resolutionFailed(text, at: now, &effects)
        case .proved(let address): proved(by: address, at: now, &effects)
        case .portal(let text): portal(text, at: now, &effects)
        case .failed(let reason, let text): failed(reason, text, at: now, &effects)
        case .checkEnded: checkEnded(at: now, &effects)
        case .resumed: resumed(at: now, &effects)
        case .wanted: wanted(&effects)
        case .timer: timer(at: now, &effects)
        }
        return effects
    }

    mutating func move(
        to new: DestinationState, _ newReason: StateReason, _ text: String, at now: Instant,
        _ effects: inout [ReachabilityEffect]
    ) {
        let old = state
        detail = text
        guard new != old || newReason != reason else { return }
        state = new
        reason = newReason
        if new != old {
            statistics.spans[old, default: .zero] += now - since
            since = now
        }
        if old == .reachable, new != .reachable {
            outageBegan = now
            outageCause = .destination
        }
        effects.append(.changed(from: old, to: new, reason: newReason))
    }

    /// Asks for a check; one in flight when a trigger comes is about what was before, and is followed by another.
    ///
    /// With checks turned off it asks for an attempt instead.
    mutating func check(at now: Instant, onTrigger: Bool, _ effects: inout [ReachabilityEffect]) {
        checkIsDue = false
        guard settings.checks else { return effects.append(.attempt) }
        guard checkBegan == nil else {
            checkIsStale = checkIsStale || onTrigger
            return
        }
        checkBegan = now
        checkResult = nil
        effects.append(.check)
    }
}

internal import Control
internal import Delivery
package import Gates
internal import Intake
internal import Queue
internal import SystemdService
package import Time

/// The states of consent: what the sessions refuse, what delivery keeps back, and what is to be purged.
extension Coordinator {
    /// How long after a failure the events of a denied category are tried to be purged again.
    package static let purgePause = Duration.seconds(10)

    /// Takes what a new configuration says of consent.
    package mutating func use(consent settings: ConsentSettings, at now: Instant) -> [CoordinatorEffect] {
        occasion = "reload"
        change(at: now) { $0.use(settings) }
        return takeEffects()
    }

    /// Has in force what the start has found: what is denied is purged, what is lost on hold for good.
    package mutating func beginConsent(at now: Instant) -> [CoordinatorEffect] {
        occasion = "start"
        let consent = admission.consent
        if consent.isLost { keepLost() }
        for category in consent.categories where consent.isUsed(category) && consent.state(of: category) == .deny {
            effects.append(.purge(category: category))
        }
        withhold(at: now)
        return takeEffects()
    }

    /// Takes what happens to the state of a category.
    mutating func consent(_ event: ConsentEvent, at now: Instant) {
        // And once more after it: what was on its way to the disk when it was ordered has become known since.
        if event.mayTakeEventsOut { admission.forgetRecent() }
        switch event {
        case .asked(let state, let category): change(at: now) { $0.ask(state, of: category) }
        case .answered(let state, let category, let isDurable):
            change(at: now) { $0.answer(state, of: category, isDurable: isDurable) }
        case .purgeBegins(let category):
            change(at: now) { $0.beginPurge(category) }
            refuseOpen(category)
        case .purgeEnded(let category):
            change(at: now) { $0.endPurge(category) }
            feedAll(.lettersChanged, at: now)
        case .eventPurgeBegins(let sequence): feedAll(.purging(sequence: sequence), at: now)
        case .eventPurged: feedAll(.lettersChanged, at: now)
        }
    }

    /// A log of a category was read that the start could not read.
    mutating func found(_ log: LogName, at now: Instant) {
        guard let category = log.category else { return }
        let before = admission.consent.lost
        change(at: now) { $0.found(category) }
        if admission.consent.lost != before { keepLost() }
        if admission.consent.state(of: category) == .deny { effects.append(.purge(category: category)) }
    }

    /// Tells delivery which logs it may not send, where that has changed.
    mutating func withhold(at now: Instant) {
        let logs = Set(admission.consent.withheld.map { LogName.consent($0) })
        guard logs != withheld else { return }
        withheld = logs
        feedAll(.withheld(logs), at: now)
        effects.append(.statusChanged)
    }

    private mutating func keepLost() {
        effects.append(.keepConsent(admission.consent.lostStates))
        effects.append(.notice(.consentLost(categories: admission.consent.lostText ?? "all")))
    }

    private mutating func change(at now: Instant, _ change: (inout Consent) -> Void) {
        let before = admission.consent
        change(&admission.consent)
        let after = admission.consent
        for category in Set(before.categories + after.categories).sorted() {
            let states = (before.state(of: category), after.state(of: category))
            guard states.0 != states.1 else { continue }
            tellOfConsent(category, from: states.0, to: states.1)
            guard states.1 == .deny else { continue }
            refuseOpen(category)
            // An operator's order purges by itself.
            if occasion != "operator" { effects.append(.purge(category: category)) }
        }
        withhold(at: now)
    }

    private mutating func refuseOpen(_ category: String) {
        guard let refusal = Refusal(category, admission.consent) else { return }
        effects.append(.refuseOpen(.consent(category), refusal))
    }

    private mutating func tellOfConsent(_ category: String, from old: ConsentState, to new: ConsentState) {
        var change = Change(.consent)
        change.from = old.name
        change.to = new.name
        change.detail = category
        change.cause = occasion
        effects.append(.change(change))
        effects.append(.notice(.consentChanged(category, from: old.name, to: new.name, cause: occasion)))
        effects.append(.statusChanged)
    }
}

/// What happens to the state of a category.
package enum ConsentEvent: Sendable {
    /// An operator wants a state; what forbids more is in force at once.
    case asked(ConsentState, of: String)
    /// That state is durable, or could not be made so.
    case answered(ConsentState, of: String, isDurable: Bool)
    /// All events of a category are about to be purged.
    case purgeBegins(String)
    /// They are gone, or that failed.
    case purgeEnded(String)
    /// An event of that number is about to be purged.
    case eventPurgeBegins(sequence: UInt64)
    /// It is gone, or that failed.
    case eventPurged

    /// Events whose repeats are known may be gone after it.
    fileprivate var mayTakeEventsOut: Bool {
        switch self {
        case .asked(let state, _), .answered(let state, _, _): state == .deny
        default: true
        }
    }
}

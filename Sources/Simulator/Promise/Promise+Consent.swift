internal import Gates
internal import Queue

/// Consent: what is held is not sent, and is marked when it is.
extension Promise {
    static let heldLog = LogName.consent(Simulation.category)

    /// An operator wants a state: allowed, it may be sent from some moment on.
    func asksConsent(_ state: ConsentState) {
        note("consent: \(state) is asked for")
        if state == .allow { isHeld = false }
        consentMayChange()
    }

    /// A state is durable, and in force until another is asked for.
    func keptConsent(_ state: ConsentState) {
        note("consent: \(state) is kept")
        isHeld = state == .hold
        consentMayChange()
    }

    /// What is given up in flight is formed anew: other ids may stand for the same bytes.
    func consentMayChange() {
        for name in tracks.keys {
            tracks[name]?.disturbances += 1
            tracks[name]?.bodies = [:]
        }
    }

    /// How an event of the category is seen: of the gates only connectivity goes before consent.
    func view(_ view: View, onHold: Bool) -> View {
        guard onHold else { return view }
        switch view {
        case .open: return .closed("consent")
        case .closed(let reason): return reason == "connectivity" ? view : .closed("consent")
        case .unclear: return view
        }
    }
}

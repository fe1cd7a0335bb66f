internal import Bytes
internal import Configuration
internal import Control
internal import Gates
internal import Intake
internal import Queue
internal import Reactor
internal import SystemdService
internal import Time

/// Consent and purges between the operators, the coordinator and the disk's thread.
extension LoopThread {
    /// How long after a failure the events of a denied category are tried to be purged again.
    private static let purgePause = Duration.seconds(10)

    /// What the start has found comes into force.
    func beginConsent() {
        perform(coordinator.beginConsent(at: loop.now))
        _ = warnOfCategories()
    }

    /// Tells the journal of categories that the configuration names and that find no place any more, and returns what
    /// it tells.
    func warnOfCategories() -> [Problem] {
        let crowded = coordinator.admission.consent.crowded
        guard let first = crowded.first else { return [] }
        let name = SettingName(section: "Consent", instance: first, key: "State")
        let problem = Problem(
            .warning,
            at: settings.configuration?.origins[name]?.last ?? Origin(file: configurationPath, line: 1, column: 1),
            "not all of these find a place among the \(Consent.maximumCategories) consent categories, as others have "
                + "events or a state already: " + crowded.joined(separator: ", "))
        log.log(.configurationProblem(isError: false, at: "\(problem.origin)", problem.message))
        return [problem]
    }

    /// Posts the order before the requests that follow from it: what is read after it is read without what it purges.
    func carryOut(consent order: OperatorOrder, _ done: @escaping (OperatorAnswer) -> Void) {
        let event: ConsentEvent
        switch order {
        case .consent(let category, let word):
            guard coordinator.admission.consent.hasRoom(for: category) else {
                return done(.conflict("there are \(Consent.maximumCategories) categories, which is all there may be"))
            }
            event = .asked(ConsentState(word), of: category)
        case .purge(let category): event = .purgeBegins(category)
        case .purgeEvent(let id):
            guard let known = EventID(text: Array(id.utf8)) else { return done(.unknown("no event has that id")) }
            event = .eventPurgeBegins(sequence: known.sequence)
        default: return
        }
        guard post(order, done) else { return }
        if order.takesEventsOut { coordinator.admission.forgetRecent() }
        tell(.consent(event))
    }

    /// What was on its way to the disk when the order was posted became known since, and may be purged as well.
    func carriedOut(consent order: OperatorOrder, _ answer: OperatorAnswer) {
        if order.takesEventsOut { coordinator.admission.forgetRecent() }
        switch order {
        case .consent(let category, let word):
            var isDurable = true
            if case .failed = answer { isDurable = false }
            tell(.consent(.answered(ConsentState(word), of: category, isDurable: isDurable)))
            if case .unpurged = answer { purgeLater(category) }
        case .purge(let category): tell(.consent(.purgeEnded(category)))
        case .purgeEvent: tell(.consent(.eventPurged))
        default: return
        }
    }

    /// Purges a category that is denied, now or, where that fails, later.
    func purge(_ category: String) {
        carryOut(consent: .purge(category: category)) { [weak self] answer in
            if case .failed = answer { self?.purgeLater(category) }
        }
    }

    private func purgeLater(_ category: String) {
        loop.schedule(at: loop.now + Self.purgePause) { [weak self] in
            guard let self, coordinator.admission.consent.state(of: category) == .deny else { return }
            purge(category)
        }
    }
}

extension OperatorOrder {
    /// Events that are known as repeats may be gone after it.
    fileprivate var takesEventsOut: Bool {
        switch self {
        case .consent(_, let word): word == .deny
        case .purge, .purgeEvent: true
        default: false
        }
    }
}

extension QueueSnapshot {
    /// The categories that have a log.
    var categories: Set<String> { Set(logs.compactMap(\.name.category)) }
}

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
        if case .consent(let category, _) = order, !coordinator.admission.consent.hasRoom(for: category) {
            return done(.conflict("there are \(Consent.maximumCategories) categories, which is all there may be"))
        }
        guard let event = ConsentEvent(beginning: order) else { return done(.unknown("no event has that id")) }
        guard post(order, done) else { return }
        tell(.consent(event))
    }

    func carriedOut(consent order: OperatorOrder, _ answer: OperatorAnswer) {
        if let event = ConsentEvent(ending: order, answer) { tell(.consent(event)) }
        if case .consent(let category, _) = order, case .unpurged = answer { purgeLater(category) }
    }

    /// Purges a category that is denied, now or, where that fails, later.
    func purge(_ category: String) {
        carryOut(consent: .purge(category: category)) { [weak self] answer in
            if case .failed = answer { self?.purgeLater(category) }
        }
    }

    private func purgeLater(_ category: String) {
        loop.schedule(at: loop.now + Coordinator.purgePause) { [weak self] in
            guard let self, coordinator.admission.consent.state(of: category) == .deny else { return }
            purge(category)
        }
    }
}

extension QueueSnapshot {
    /// The categories that have a log.
    package var categories: Set<String> { Set(logs.compactMap(\.name.category)) }
}

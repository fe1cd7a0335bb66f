internal import Bytes
internal import Control
internal import Gates
internal import Intake
internal import Queue
internal import Reactor
internal import Time

/// Consent and purges between the operators, the coordinator and the disk's thread.
extension LoopThread {
    /// How long after a failure the events of a denied category are tried to be purged again.
    private static let purgePause = Duration.seconds(10)

    /// What the start has found comes into force.
    func beginConsent() { perform(coordinator.beginConsent(at: loop.now)) }

    /// Posts the order before the requests that follow from it: what is read after it is read without what it purges.
    func carryOut(consent order: OperatorOrder, _ done: @escaping (OperatorAnswer) -> Void) {
        switch order {
        case .consent(let category, let word):
            guard let state = ConsentState(name: word.rawValue) else { return }
            guard coordinator.admission.consent.hasRoom(for: category) else {
                return done(.conflict("there are \(Consent.maximumCategories) categories, which is all there may be"))
            }
            guard post(order, done) else { return }
            if state == .deny { coordinator.admission.forgetRecent() }
            tell(.consent(.asked(state, of: category)))
        case .purge(let category):
            guard post(order, done) else { return }
            coordinator.admission.forgetRecent()
            tell(.consent(.purgeBegins(category)))
        case .purgeEvent(let id):
            guard let event = EventID(text: Array(id.utf8)) else { return done(.unknown("no event has that id")) }
            guard post(order, done) else { return }
            coordinator.admission.forgetRecent()
            tell(.consent(.eventPurgeBegins(sequence: event.sequence)))
        default: return
        }
    }

    /// What was on its way to the disk when the order was posted became known since, and may be purged as well.
    func carriedOut(consent order: OperatorOrder, _ answer: OperatorAnswer) {
        switch order {
        case .consent(let category, let word):
            guard let state = ConsentState(name: word.rawValue) else { return }
            var isDurable = true
            if case .failed = answer { isDurable = false }
            if state == .deny { coordinator.admission.forgetRecent() }
            tell(.consent(.answered(state, of: category, isDurable: isDurable)))
            if case .unpurged = answer { purgeLater(category) }
        case .purge(let category):
            coordinator.admission.forgetRecent()
            tell(.consent(.purgeEnded(category)))
        case .purgeEvent:
            coordinator.admission.forgetRecent()
            tell(.consent(.eventPurged))
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

extension QueueSnapshot {
    /// The categories that have a log.
    var categories: Set<String> {
        Set(logs.compactMap { log in if case .consent(let category) = log.name { category } else { nil } })
    }
}

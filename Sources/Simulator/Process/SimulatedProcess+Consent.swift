internal import Control
internal import Daemon
internal import Gates
internal import Intake
internal import Time

/// Orders of operators about consent, in the steps of the loop's thread.
extension SimulatedProcess {
    /// Carries an order out; `untilDone`, tries again where that fails, as long as the category is denied.
    func carryOut(_ order: OperatorOrder, untilDone: Bool = false) {
        guard let event = ConsentEvent(beginning: order) else { return }
        postToDisk(.order(order, untilDone: untilDone))
        world.promise.ordered(order)
        tell(.consent(event))
    }

    func carriedOut(_ order: OperatorOrder, untilDone: Bool, _ answer: OperatorAnswer, through last: UInt64) {
        world.promise.answered(order, answer, through: last)
        if let event = ConsentEvent(ending: order, answer) { tell(.consent(event)) }
        switch (order, answer) {
        case (.consent(let category, _), .unpurged): purgeLater(category)
        case (.purge(let category), .failed) where untilDone: purgeLater(category)
        default: break
        }
    }

    private func purgeLater(_ category: String) {
        world.plan(life, after: Coordinator.purgePause) { process in
            guard process.coordinator.admission.consent.state(of: category) == .deny else { return }
            process.carryOut(.purge(category: category), untilDone: true)
        }
    }
}

internal import Bytes
internal import Delivery
internal import Intake
internal import Queue
internal import Reachability

extension LoopThread {
    /// The sentence that `systemctl status` shows.
    func statusSentence() -> String {
        if snapshot.storage == .failing { return "degraded: \(snapshot.lastError.map { "\($0)" } ?? "the disk fails")" }
        if let refusal = coordinator.admission.refusal { return "degraded: \(refusal.detail)" }
        if snapshot.storage == .full, let error = snapshot.lastError {
            return "degraded: takes no \(snapshot.refused.map(\.text).listed) events: \(error)"
        }
        guard !coordinator.units.isEmpty else {
            return "no destination is configured; \(queued(snapshot.logs.reduce(0) { $0 + $1.events }))"
        }
        let parts = coordinator.units.map { unit in
            let waiting = snapshot.cursors.filter { $0.destination == unit.name }.reduce(0) { $0 + $1.queued }
            let held = unit.delivery.status.isHeld ? " (held: \(unit.delivery.status.reason.rawValue))" : ""
            return "\(unit.name) \(unit.reachability.state.rawValue)\(held), \(queued(waiting))"
        }
        return parts.joined(separator: "; ")
    }

    private func queued(_ count: UInt64) -> String { count == 0 ? "nothing queued" : "\(count) queued" }
}

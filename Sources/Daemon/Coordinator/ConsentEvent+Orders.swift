internal import Bytes
package import Control
internal import Gates
internal import Queue

/// What orders of operators are for the coordinator, before and after the disk's thread has carried them out.
extension ConsentEvent {
    /// What an order begins with; nil where it names no event, or is not about consent.
    package init?(beginning order: OperatorOrder) {
        switch order {
        case .consent(let category, let word): self = .asked(ConsentState(word), of: category)
        case .purge(let category): self = .purgeBegins(category)
        case .purgeEvent(let id):
            guard let known = EventID(text: Array(id.utf8)) else { return nil }
            self = .eventPurgeBegins(sequence: known.sequence)
        default: return nil
        }
    }

    /// What an order ends with, whatever came of it; nil where it is not about consent.
    package init?(ending order: OperatorOrder, _ answer: OperatorAnswer) {
        switch order {
        case .consent(let category, let word):
            var isDurable = true
            if case .failed = answer { isDurable = false }
            self = .answered(ConsentState(word), of: category, isDurable: isDurable)
        case .purge(let category): self = .purgeEnded(category)
        case .purgeEvent: self = .eventPurged
        default: return nil
        }
    }
}

internal import Bytes
package import Control
internal import Gates
package import Queue

/// What operators order of consent and purges, on the disk's thread.
package struct ConsentDesk {
    private let queue: Queue

    package init(_ queue: Queue) { self.queue = queue }

    /// Carries out a state, or a purge of a category or of an event; what it takes out is gone from the disk then.
    package func carryOut(_ order: OperatorOrder) -> OperatorAnswer {
        do throws(QueueError) {
            switch order {
            case .consent(let category, let state): return try set(state, of: category)
            case .purge(let category): return .purged(try queue.purge(log: .consent(category)))
            case .purgeEvent(let id):
                guard let event = EventID(text: Array(id.utf8)) else { return .unknown("no event has that id") }
                return .purged(try queue.purge(id: event))
            default: preconditionFailure("\(order) is not about consent")
            }
        } catch {
            return .failed("\(error)")
        }
    }

    /// Makes a state durable, then purges what it denies.
    private func set(_ word: ConsentWord, of category: String) throws(QueueError) -> OperatorAnswer {
        let state = ConsentState(word)
        do throws(QueueError) {
            try queue.keep(consent: [category: state])
        } catch {
            // On a full disk the purge may make the room.
            guard state == .deny, error.isLackOfRoom else { throw error }
            let purged = try queue.purge(log: .consent(category))
            try queue.keep(consent: [category: state])
            return .consent(word, purged: purged)
        }
        guard state == .deny else { return .consent(word, purged: 0) }
        do throws(QueueError) {
            return .consent(word, purged: try queue.purge(log: .consent(category)))
        } catch {
            return .unpurged("\(error)")
        }
    }
}

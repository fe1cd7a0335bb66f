internal import Bytes
package import Control
internal import Gates
package import Queue

/// What operators order of consent and purges, on the disk's thread.
package struct ConsentDesk {
    /// What came of an order at once.
    package enum Outcome {
        case done(OperatorAnswer)
        /// What is left are dead letters.
        case letters(LongOrder)
    }

    private let queue: Queue

    package init(_ queue: Queue) { self.queue = queue }

    /// Carries out a state, or a purge of a category or of an event, but for dead letters of the category; what it
    /// takes out is gone from the disk at the answer.
    package func begin(_ order: OperatorOrder) -> Outcome {
        do throws(QueueError) {
            switch order {
            case .consent(let category, let state): return try set(state, of: category)
            case .purge(let category): return .letters(try purge(category) { .purged($0) })
            case .purgeEvent(let id):
                guard let event = EventID(text: Array(id.utf8)) else { return .done(.unknown("no event has that id")) }
                return .done(.purged(try queue.purge(id: event)))
            default: preconditionFailure("\(order) is not about consent")
            }
        } catch {
            return .done(.failed("\(error)"))
        }
    }

    /// Makes a state durable, then purges what it denies.
    private func set(_ word: ConsentWord, of category: String) throws(QueueError) -> Outcome {
        let state = ConsentState(word)
        do throws(QueueError) {
            try queue.keep(consent: [category: state])
        } catch {
            // On a full disk the purge may make the room.
            guard state == .deny, error.isLackOfRoom else { throw error }
            return .letters(
                try purge(category) { [queue] purged throws(QueueError) in
                    try queue.keep(consent: [category: state])
                    return .consent(word, purged: purged)
                })
        }
        guard state == .deny else { return .done(.consent(word, purged: 0)) }
        do throws(QueueError) {
            return .letters(
                try purge(category, failed: { .unpurged("\($0)") }, then: { .consent(word, purged: $0) }))
        } catch {
            return .done(.unpurged("\(error)"))
        }
    }

    private func purge(
        _ category: String, failed: @escaping (QueueError) -> OperatorAnswer = { .failed("\($0)") },
        then answer: @escaping (UInt64) throws(QueueError) -> OperatorAnswer
    ) throws(QueueError) -> LongOrder {
        let purge = try queue.beginPurge(log: .consent(category))
        return LongOrder(purge.letters, failed: failed) { _ throws(QueueError) in try answer(purge.events) }
    }
}

package import Delivery
package import Queue
package import Time

/// What delivery asks of the dead letters, on the disk's thread.
package struct LetterDesk {
    private let queue: Queue
    /// Letters that were sent again and are delivered, which could not be counted yet.
    private var unresolved: [DeadLetterName] = []

    package init(_ queue: Queue) { self.queue = queue }

    /// Sets a refused event apart.
    package func bury(
        _ sequence: UInt64, of log: LogName, for destination: String, _ refusal: EventRefusal, at wall: WallTime
    ) -> BurialOutcome {
        do throws(QueueError) {
            return try queue.bury(sequence, of: log, for: destination, refusal, at: wall).map { .kept($0) } ?? .gone
        } catch {
            return BurialOutcome(error)
        }
    }

    /// Counts a letter that was sent again as delivered, now or before any other is sent.
    package mutating func resolve(_ name: DeadLetterName) {
        unresolved.append(name)
        _ = resolveAll()
    }

    /// The next letter that is to be sent again and may leave.
    package mutating func next(of destination: String, by passage: Passage) -> LetterFound {
        guard resolveAll() else { return .failed }
        do throws(QueueError) {
            let next = try queue.nextRetried(of: destination) { passage.allows($0) }
            return next.map { .letter($0, attempts: $1) } ?? .none
        } catch {
            return .failed
        }
    }

    private mutating func resolveAll() -> Bool {
        guard !unresolved.isEmpty else { return true }
        do throws(QueueError) {
            try queue.resolve(unresolved)
            unresolved = []
            return true
        } catch {
            return false
        }
    }
}

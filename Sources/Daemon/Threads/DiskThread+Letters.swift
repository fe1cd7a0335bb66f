internal import Delivery
internal import Posix
internal import Queue

/// Dead letters, for delivery and for operators.
extension DiskThread {
    func bury(
        _ sequence: UInt64, of log: LogName, for destination: String, _ refusal: EventRefusal
    ) -> BurialOutcome {
        do throws(QueueError) {
            return try queue.bury(sequence, of: log, for: destination, refusal, at: Clock.wall) ? .kept : .gone
        } catch {
            return BurialOutcome(error)
        }
    }
}

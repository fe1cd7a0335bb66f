internal import Control
internal import Queue
internal import Reactor

/// An order about dead letters, of which there may be many; answered once the last of them is dealt with.
struct LongOrder {
    let number: UInt64
    var work: LetterWork
    /// The answer to the order, told how many letters there were.
    let answer: (UInt64) throws(QueueError) -> OperatorAnswer
    /// The answer where the disk fails.
    let failed: (QueueError) -> OperatorAnswer

    init(
        _ number: UInt64, _ work: LetterWork, failed: @escaping (QueueError) -> OperatorAnswer = { .failed("\($0)") },
        _ answer: @escaping (UInt64) throws(QueueError) -> OperatorAnswer
    ) {
        self.number = number
        self.work = work
        self.answer = answer
        self.failed = failed
    }
}

extension DiskThread {
    /// Does a slice of the order whose turn it is; there must be one.
    func advanceOrders() {
        var order = longOrders.removeFirst()
        snapshotIsDue = true
        let answer: OperatorAnswer
        do throws(QueueError) {
            guard try queue.advance(&order.work) else { return longOrders.append(order) }
            answer = try order.answer(order.work.done)
        } catch {
            answer = order.failed(error)
        }
        replies.post(.carriedOut(number: order.number, answer))
    }
}

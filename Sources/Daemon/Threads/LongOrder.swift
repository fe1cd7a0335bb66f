package import Control
package import Queue

/// An order about dead letters, of which there may be many; answered once the last of them is dealt with.
package struct LongOrder {
    private var work: LetterWork
    /// The answer to the order, told how many letters there were.
    private let answer: (UInt64) throws(QueueError) -> OperatorAnswer
    /// The answer where the disk fails.
    private let failed: (QueueError) -> OperatorAnswer

    init(
        _ work: LetterWork, failed: @escaping (QueueError) -> OperatorAnswer = { .failed("\($0)") },
        _ answer: @escaping (UInt64) throws(QueueError) -> OperatorAnswer
    ) {
        self.work = work
        self.answer = answer
        self.failed = failed
    }

    /// Does a slice; the answer once that was the last.
    package mutating func advance(in queue: Queue) -> OperatorAnswer? {
        do throws(QueueError) {
            guard try queue.advance(&work) else { return nil }
            return try answer(work.done)
        } catch {
            return failed(error)
        }
    }
}

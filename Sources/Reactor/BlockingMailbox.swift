internal import Posix

/// Messages from any thread to one that has no event loop and blocks for them, in the order of posting.
package final class BlockingMailbox<Message: Sendable>: Sendable {
    private let messages = Lock<[Message]>([])
    /// One while the box is not empty, once whoever filled it has said so.
    private let filled = Semaphore()

    /// An empty box.
    package init() {}

    /// Puts a message in and wakes the receiver.
    package func post(_ message: consuming Message) {
        if messages.add(message) { filled.signal() }
    }

    /// Takes all that wait.
    package func drain() -> [Message] { filled.tryWait() ? messages.takeAll() : [] }

    /// Takes all that wait; blocks until there is one, or until `span` has passed.
    package func drain(waitingAtMost span: Duration) -> [Message] {
        filled.wait(atMost: span) ? messages.takeAll() : []
    }
}

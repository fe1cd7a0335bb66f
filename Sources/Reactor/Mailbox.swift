package import Posix

/// Messages from any thread to the one that drains them, in the order of posting; its descriptor wakes an event loop.
package final class Mailbox<Message: Sendable>: Sendable {
    private let messages = Lock<[Message]>([])
    private let counter: EventCounter

    /// An empty box.
    package init() throws(Errno) { counter = try EventCounter() }

    /// Readable while messages wait.
    package var descriptor: Int32 { counter.descriptor.number }

    /// Puts a message in and wakes the receiver.
    package func post(_ message: consuming Message) {
        let message = message
        let wasEmpty = messages.with { box in
            box.append(message)
            return box.count == 1
        }
        if wasEmpty {
            counter.signal()
            messages.wake()
        }
    }

    /// Takes all that wait.
    package func drain() -> [Message] {
        counter.clear()
        return messages.with { box in
            let taken = box
            box = []
            return taken
        }
    }

    /// Takes all that wait; blocks until there is one, or until `span` has passed.
    package func drain(waitingAtMost span: Duration) -> [Message] {
        counter.clear()
        return messages.wait(until: { !$0.isEmpty }, atMost: span) { box in
            let taken = box
            box = []
            return taken
        }
    }
}

package import Posix
internal import Time

/// Messages from any thread to the one that drains them, in the order of posting; its descriptor wakes an event loop.
package final class Mailbox<Message: Sendable>: Sendable {
    private let messages = Lock<[Message]>([])
    private let counter: EventCounter

    /// An empty box.
    package init() throws(Errno) { counter = try EventCounter() }

    /// Becomes readable anew when the first message is put into the empty box; watch it with `Readiness.onChange`.
    package var descriptor: Int32 { counter.descriptor.number }

    /// Puts a message in and wakes the receiver.
    package func post(_ message: consuming Message) {
        if messages.add(message) { counter.signal() }
    }

    /// Takes all that wait.
    package func drain() -> [Message] { messages.takeAll() }

    /// Takes the one that has waited longest; blocks until there is one, or until `span` has passed.
    ///
    /// Those behind it make the descriptor readable for whoever takes them.
    package func next(waitingAtMost span: Duration) -> Message? {
        let milliseconds = Int32(min(Int64(Int32.max), max(0, span.milliseconds)))
        guard (try? counter.descriptor.waitReadable(milliseconds: milliseconds)) == true else { return nil }
        counter.clear()
        let (first, hasMore) = messages.with { box -> (Message?, Bool) in
            box.isEmpty ? (nil, false) : (box.removeFirst(), box.count > 0)
        }
        if hasMore { counter.signal() }
        return first
    }
}

extension Lock {
    /// Adds a message; true where it is the only one.
    func add<Message: Sendable>(_ message: consuming Message) -> Bool where Value == [Message] {
        let message = message
        return with { box in
            box.append(message)
            return box.count == 1
        }
    }

    /// Takes all messages.
    func takeAll<Message: Sendable>() -> [Message] where Value == [Message] {
        with { box in
            let taken = box
            box = []
            return taken
        }
    }
}

package import Posix

/// Gives the messages of a mailbox to a handler on an event loop.
package final class MailboxSource<Message: Sendable>: ReadyHandler {
    private let mailbox: Mailbox<Message>
    private let receive: ([Message]) -> Void
    private let loop: EventLoop
    private var registration: EventLoop.Registration?

    /// Watches `mailbox` on `loop` until `stop`.
    package init(
        _ mailbox: Mailbox<Message>, on loop: EventLoop, _ receive: @escaping ([Message]) -> Void
    ) throws(Errno) {
        self.mailbox = mailbox
        self.receive = receive
        self.loop = loop
        registration = try loop.register(mailbox.descriptor, [.readable, .onChange], handler: self)
    }

    package func ready(_ readiness: Readiness, registration: EventLoop.Registration) { receive(mailbox.drain()) }

    /// Stops watching.
    package func stop() {
        if let registration { loop.deregister(registration) }
        registration = nil
    }
}

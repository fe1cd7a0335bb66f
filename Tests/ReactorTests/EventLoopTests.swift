import Posix
import Reactor
import Testing
import Time

private final class Recorder: ReadyHandler {
    var calls = 0
    var onReady: (EventLoop.Registration) -> Void = { _ in }
    func ready(_ readiness: Readiness, registration: EventLoop.Registration) {
        calls += 1
        onReady(registration)
    }
}

struct EventLoopTests {
    @Test func timersRunInOrderOfDeadlines() throws {
        let loop = try EventLoop()
        var order: [Int] = []
        let now = Clock.now
        for number in [5, 1, 4, 2, 3] {
            loop.schedule(at: now + .milliseconds(number)) { order.append(number) }
        }
        let cancelled = loop.schedule(at: now) { order.append(0) }
        loop.cancel(cancelled)
        loop.schedule(at: now + .milliseconds(6)) { loop.stop() }
        try loop.run()
        #expect(order == [1, 2, 3, 4, 5])
    }

    @Test func manyCancelledTimersLeaveTheOthersInOrder() throws {
        let loop = try EventLoop()
        var ran: [Int] = []
        let now = Clock.now
        let tokens = (0..<500).map { number in
            loop.schedule(at: now + .microseconds(500 - number)) { ran.append(number) }
        }
        for (number, token) in tokens.enumerated() where number % 10 != 0 { loop.cancel(token) }
        loop.schedule(at: now + .milliseconds(2)) { loop.stop() }
        try loop.run()
        #expect(ran == stride(from: 490, through: 0, by: -10).map { $0 })
    }

    @Test func anEventOfADescriptorClosedInTheSameTurnFindsNobody() throws {
        let loop = try EventLoop()
        let first = try EventCounter()
        let second = try EventCounter()
        first.signal()
        second.signal()
        let recorder = Recorder()
        let one = try loop.register(first.descriptor.number, .readable, handler: recorder)
        let two = try loop.register(second.descriptor.number, .readable, handler: recorder)
        recorder.onReady = { called in
            loop.deregister(called == one ? two : one)
        }
        try loop.turn(limit: .zero)
        #expect(recorder.calls == 1)
    }

    @Test func mailboxesKeepTheOrderOfPosting() throws {
        let loop = try EventLoop()
        let mailbox = try Mailbox<Int>()
        var received: [Int] = []
        let source = try MailboxSource(mailbox, on: loop) { messages in
            received += messages
            if received.count == 1_000 { loop.stop() }
        }
        let thread = try Thread(name: "poster") { for number in 0..<1_000 { mailbox.post(number) } }
        try loop.run()
        thread.join()
        source.stop()
        #expect(received == Array(0..<1_000))
    }
}

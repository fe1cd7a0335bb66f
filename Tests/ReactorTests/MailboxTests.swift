import Posix
import Reactor
import Testing

struct MailboxTests {
    /// As at the start, which waits for the first message of a thread that goes on posting.
    @Test func whatIsBehindTheFirstIsLeftForTheLoop() throws {
        let mailbox = try Mailbox<Int>()
        #expect(mailbox.next(waitingAtMost: .milliseconds(1)) == nil)
        for number in 1...3 { mailbox.post(number) }
        #expect(mailbox.next(waitingAtMost: .seconds(20)) == 1)
        #expect(mailbox.next(waitingAtMost: .seconds(20)) == 2)
        let loop = try EventLoop()
        var received: [Int] = []
        let source = try MailboxSource(mailbox, on: loop) { received += $0 }
        try loop.turn(limit: .seconds(20))
        mailbox.post(4)
        try loop.turn(limit: .seconds(20))
        #expect(received == [3, 4])
        source.stop()
    }
}

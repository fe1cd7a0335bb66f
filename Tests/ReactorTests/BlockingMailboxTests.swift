import Posix
import Reactor
import Testing

struct BlockingMailboxTests {
    @Test func keepsTheOrderOfPostingAndBlocksForMore() throws {
        let mailbox = BlockingMailbox<Int>()
        let thread = try Thread(name: "poster") { for number in 0..<10_000 { mailbox.post(number) } }
        var received: [Int] = []
        while received.count < 10_000 {
            let messages = mailbox.drain(waitingAtMost: .seconds(20))
            #expect(!messages.isEmpty, "it woke for nothing")
            if messages.isEmpty { break }
            received += messages
        }
        thread.join()
        #expect(received == Array(0..<10_000))
        #expect(mailbox.drain().isEmpty)
        #expect(mailbox.drain(waitingAtMost: .milliseconds(1)).isEmpty)
    }

    @Test func drainsWithoutBlocking() {
        let mailbox = BlockingMailbox<Int>()
        mailbox.post(1)
        mailbox.post(2)
        #expect(mailbox.drain() == [1, 2])
        mailbox.post(3)
        #expect(mailbox.drain(waitingAtMost: .seconds(20)) == [3])
    }
}

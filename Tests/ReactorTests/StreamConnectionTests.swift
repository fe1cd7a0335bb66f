import Glibc
import Posix
import Reactor
import Testing

struct StreamConnectionTests {
    @Test func aPeerThatReadsNoMoreIsKnownBeforeAnythingIsWritten() throws {
        let loop = try EventLoop()
        var ends: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        let connection = try StreamConnection(taking: FileDescriptor(taking: ends[0]), number: 1, on: loop)
        let peer = FileDescriptor(taking: ends[1])
        connection.closeIfUnread()
        #expect(connection.isOpen)
        #expect(shutdown(peer.number, Int32(SHUT_WR)) == 0)
        connection.closeIfUnread()
        #expect(connection.isOpen, "it may read all the same")
        #expect(shutdown(peer.number, Int32(SHUT_RD)) == 0)
        connection.closeIfUnread()
        #expect(!connection.isOpen)
    }
}

import Bytes
import Glibc
import Posix
import Reactor
import Testing
import Time

struct StreamListenerTests {
    private final class Occupant: ReadyHandler {
        func ready(_ readiness: Readiness, registration: EventLoop.Registration) {}
    }

    /// The loop for some time, or until `isDone`.
    private func turn(_ loop: EventLoop, for span: Duration, until isDone: () -> Bool = { false }) throws {
        let end = Clock.now + span
        while Clock.now < end, !isDone() { try loop.turn(limit: .milliseconds(5)) }
    }

    /// A socket that does not listen yet fails to accept, and one that is watched already is not watched again.
    private func restingListener(
        on loop: EventLoop, _ accepted: @escaping () -> Void
    ) throws -> (listener: StreamListener, number: Int32) {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        let listener = try StreamListener(taking: FileDescriptor(taking: number), on: loop) { _ in accepted() }
        try loop.turn(limit: .zero)
        return (listener, number)
    }

    private func connect(to number: Int32) throws -> FileDescriptor {
        // Of its own, so that closing it leaves the listener's open.
        let copy = FileDescriptor(taking: dup(number))
        let address = try #require(IPAddress(text: "127.0.0.1"))
        return try Socket.beginTCP(to: address, port: Socket.localPort(copy))
    }

    @Test func whatCannotBeWatchedIsTriedAgain() throws {
        let loop = try EventLoop()
        var count = 0
        let (listener, number) = try restingListener(on: loop) { count += 1 }
        let occupant = Occupant()
        let registration = try loop.register(number, [], handler: occupant)
        #expect(listen(number, 4) == 0)
        let client = try connect(to: number)
        try turn(loop, for: .milliseconds(250))
        #expect(count == 0, "the kernel does not watch it for the listener")
        loop.deregister(registration)
        try turn(loop, for: .seconds(20)) { count > 0 }
        #expect(count == 1)
        listener.stop()
        _ = consume client
    }

    @Test func oneThatRestsCanBeStopped() throws {
        let loop = try EventLoop()
        var count = 0
        let (listener, number) = try restingListener(on: loop) { count += 1 }
        #expect(listen(number, 4) == 0)
        listener.stop()
        let client = try connect(to: number)
        try turn(loop, for: .milliseconds(250))
        #expect(count == 0)
        _ = consume client
    }
}

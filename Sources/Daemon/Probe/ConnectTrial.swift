internal import Bytes
internal import Posix
internal import Reactor

/// A TCP connection that is made to see whether it can be, and closed at once.
final class ConnectTrial: ReadyHandler {
    private let loop: EventLoop
    private var socket: FileDescriptor?
    private var registration: EventLoop.Registration?
    private let ended: (Errno?) -> Void

    /// Begins to connect; `ended` is told once, in a later turn, of the error or of none, unless the trial goes before.
    init(
        to address: IPAddress, port: UInt16, on loop: EventLoop, ended: @escaping (Errno?) -> Void
    ) throws(Errno) {
        self.loop = loop
        self.ended = ended
        let socket = try Socket.beginTCP(to: address, port: port)
        registration = try loop.register(socket.number, .writable, handler: self)
        self.socket = consume socket
    }

    deinit { forget() }

    func ready(_ readiness: Readiness, registration: EventLoop.Registration) {
        var failure: Errno?
        do throws(Errno) { try socket?.takeError() } catch { failure = error }
        forget()
        ended(failure)
    }

    private func forget() {
        if let registration { loop.deregister(registration) }
        registration = nil
        // A server of one connection at a time answers the next one only then.
        socket = nil
    }
}

package import Posix
internal import Time

/// Accepts the connections of a listening socket on an event loop, a few a turn, so that others do not wait for many.
///
/// When no descriptor is left it waits 100 ms instead of turning hot.
package final class StreamListener: ReadyHandler {
    private static let connectionsPerTurn = 4
    private let loop: EventLoop
    private var socket: FileDescriptor
    private var registration: EventLoop.Registration?
    private let accepted: (consuming FileDescriptor) -> Void

    /// Takes over a listening socket and gives each connection to `accepted`.
    package init(
        taking socket: consuming FileDescriptor, on loop: EventLoop,
        _ accepted: @escaping (consuming FileDescriptor) -> Void
    ) throws(Errno) {
        self.loop = loop
        self.accepted = accepted
        self.socket = socket
        registration = try loop.register(self.socket.number, .readable, handler: self)
    }

    package func ready(_ readiness: Readiness, registration: EventLoop.Registration) {
        for _ in 0..<Self.connectionsPerTurn {
            do throws(Errno) {
                guard let connection = try Socket.accept(socket) else { return }
                accepted(connection)
            } catch {
                return rest()
            }
        }
    }

    /// Stops accepting; what waits in the backlog stays for whoever holds the socket next.
    package func stop() {
        if let registration { loop.deregister(registration) }
        registration = nil
    }

    private func rest() {
        stop()
        loop.schedule(at: loop.now + .milliseconds(100)) { [weak self] in
            guard let self else { return }
            self.registration = try? self.loop.register(self.socket.number, .readable, handler: self)
        }
    }
}

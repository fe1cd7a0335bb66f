package import Posix
internal import Time

/// Accepts the connections of a listening socket on an event loop, a few a turn, so that others do not wait for many.
///
/// When no descriptor is left, or the kernel has no room to watch the socket, it waits 100 ms instead of turning hot.
package final class StreamListener: ReadyHandler {
    private enum State {
        case accepting(EventLoop.Registration)
        /// Until the timer runs.
        case resting(TimerToken)
        case stopped
    }

    private static let connectionsPerTurn = 4
    private static let pause = Duration.milliseconds(100)
    private let loop: EventLoop
    private var socket: FileDescriptor
    private var state = State.stopped
    private let accepted: (consuming FileDescriptor) -> Void

    /// Takes over a listening socket and gives each connection to `accepted`.
    package init(
        taking socket: consuming FileDescriptor, on loop: EventLoop,
        _ accepted: @escaping (consuming FileDescriptor) -> Void
    ) throws(Errno) {
        self.loop = loop
        self.accepted = accepted
        self.socket = socket
        try accept()
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
        switch state {
        case .accepting(let registration): loop.deregister(registration)
        case .resting(let timer): loop.cancel(timer)
        case .stopped: return
        }
        state = .stopped
    }

    private func accept() throws(Errno) {
        state = .accepting(try loop.register(socket.number, .readable, handler: self))
    }

    private func rest() {
        stop()
        state = .resting(loop.schedule(at: loop.now + Self.pause) { [weak self] in self?.resume() })
    }

    private func resume() {
        do throws(Errno) { try accept() } catch { rest() }
    }
}

package import Posix
internal import Time

/// Accepts the connections of a listening socket on an event loop, a few a turn, so that others do not wait for many.
///
/// When no descriptor is left, or the kernel has no room to watch the socket, it waits 100 ms instead of turning hot.
/// One that keeps a descriptor back gives that up first, so that a client more is always taken.
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
    private let keepsOneBack: Bool
    /// Kept for the client that comes when there is no other; nil while one has it.
    private var keptBack: FileDescriptor?
    private let accepted: (consuming FileDescriptor) -> Void

    /// Takes over a listening socket and gives each connection to `accepted`.
    package init(
        taking socket: consuming FileDescriptor, on loop: EventLoop, keepingOneBack keepsOneBack: Bool = false,
        _ accepted: @escaping (consuming FileDescriptor) -> Void
    ) throws(Errno) {
        self.loop = loop
        self.accepted = accepted
        self.socket = socket
        self.keepsOneBack = keepsOneBack
        keepOneBack()
        try accept()
    }

    package func ready(_ readiness: Readiness, registration: EventLoop.Registration) {
        keepOneBack()
        for _ in 0..<Self.connectionsPerTurn {
            do throws(Errno) {
                guard let connection = try Socket.accept(socket) else { return }
                accepted(connection)
            } catch {
                guard keptBack != nil else { return rest() }
                keptBack = nil
            }
        }
    }

    /// Takes a descriptor back as soon as there is one; to be called when a client has gone.
    package func keepOneBack() {
        if keepsOneBack, keptBack == nil { keptBack = try? FileDescriptor.open("/dev/null", [.readOnly]) }
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

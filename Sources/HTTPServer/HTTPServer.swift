internal import Bytes
internal import HTTP1
package import Posix
package import Reactor

/// The bounds of a server.
package struct HTTPServerLimits: Sendable {
    /// For one more than these the connection that has idled longest is closed; where none idles, the new one is
    /// answered 503 and closed.
    package var connections = 16
    /// A request's body; more is answered 413.
    package var bodyBytes = 65_536
    /// From a request's first byte to its last; a slower client is answered 408.
    package var requestTime: Duration = .seconds(10)
    /// From a request to its answer; then it is answered 503.
    package var answerTime: Duration = .seconds(30)
    /// Between requests; then the connection closes.
    package var idleTime: Duration = .seconds(5)
    /// For taking an answer; then the connection closes.
    package var drainTime: Duration = .seconds(60)

    /// What suits a control socket.
    package init() {}
}

/// Serves HTTP/1.1 on stream sockets of an event loop: keep-alive, pipelining, one request at a time a connection.
package final class HTTPServer {
    let loop: EventLoop
    let limits: HTTPServerLimits
    let handle: (HTTPExchange) -> Void
    private var listeners: [StreamListener] = []
    private var connections: [UInt64: HTTPConnection] = [:]
    private var lastNumber: UInt64 = 0

    /// A server that gives each request to `handle`, which answers it at once or later, on the loop's thread.
    package init(on loop: EventLoop, limits: HTTPServerLimits, _ handle: @escaping (HTTPExchange) -> Void) {
        self.loop = loop
        self.limits = limits
        self.handle = handle
    }

    /// Takes over a listening socket; several may be given.
    package func listen(taking socket: consuming FileDescriptor) throws(Errno) {
        listeners.append(
            try StreamListener(taking: socket, on: loop, keepingOneBack: true) { [weak self] connection in
                self?.accept(connection)
            })
    }

    /// Takes no more clients; those connected are closed once the answer in hand is sent.
    package func stop() {
        for listener in listeners { listener.stop() }
        listeners = []
        for connection in Array(connections.values) { connection.finish() }
    }

    func forget(_ number: UInt64) {
        connections[number] = nil
        for listener in listeners { listener.keepOneBack() }
    }

    private func closeLongestIdle() {
        let idle = connections.values.compactMap { connection in connection.idleSince.map { ($0, connection) } }
        idle.min { $0.0 < $1.0 }?.1.closeIdle()
    }

    private func accept(_ socket: consuming FileDescriptor) {
        if connections.count >= limits.connections { closeLongestIdle() }
        guard connections.count < limits.connections else {
            let problem = ProblemDetails(
                status: 503, type: "too-many-connections", title: "Too many connections",
                detail: "\(limits.connections) clients are connected; try again later")
            var bytes: [UInt8] = []
            problem.response(fields: [("Retry-After", "1")]).append(to: &bytes, keepsAlive: false)
            _ = try? socket.send(bytes, in: bytes.indices)
            return
        }
        lastNumber += 1
        let number = lastNumber
        guard let stream = try? StreamConnection(taking: socket, number: number, on: loop) else { return }
        connections[number] = HTTPConnection(stream, server: self)
    }
}

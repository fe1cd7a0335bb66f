internal import HTTP1
package import HTTPServer
package import Posix
package import Reactor

/// The control socket: `/v1/status`, `/metrics`, `/livez`, `/readyz`, reload, and the orders of operators.
package final class ControlServer {
    private let server: HTTPServer

    /// A server that asks `delegate`, which it does not keep alive.
    package init(
        on loop: EventLoop, delegate: any ControlDelegate, limits: HTTPServerLimits = HTTPServerLimits()
    ) {
        server = HTTPServer(on: loop, limits: limits) { [weak delegate] exchange in
            guard let delegate else { return exchange.answer(ControlRoute.stopping) }
            ControlRoute.answer(exchange, from: delegate)
        }
    }

    /// Takes over a listening socket.
    package func listen(taking socket: consuming FileDescriptor) throws(Errno) { try server.listen(taking: socket) }

    /// Takes no more clients, and closes those connected once their answer is sent.
    package func stop() { server.stop() }
}

import HTTP1
import HTTPServer
import Posix
import Reactor
import Time

/// A directory of its own under /tmp, removed with the sockets in it.
struct TemporaryDirectory: ~Copyable {
    let path: String

    init() throws {
        path = "/tmp/uplink-control-\(Process.identifier)-\(SystemRandom.bits())"
        try FileSystem.makeDirectory(path, mode: 0o700)
    }

    deinit {
        for name in (try? FileSystem.names(in: path)) ?? [] { try? FileSystem.unlink(path + "/" + name) }
        try? FileSystem.removeDirectory(path)
    }
}

/// Runs an event loop on a thread of its own while `body` runs on this one.
///
/// `prepare` builds what the loop serves, on the loop's thread, and returns what must stay alive.
func withLoop<Ready: Sendable>(
    _ prepare: @escaping @Sendable (EventLoop) throws -> (kept: AnyObject, ready: Ready),
    _ body: (Ready) throws -> Void
) throws {
    let stop = try Mailbox<Bool>()
    let started = Lock<Ready?>(nil)
    let thread = try Thread(name: "server") {
        do {
            let loop = try EventLoop()
            let source = try MailboxSource(stop, on: loop) { _ in loop.stop() }
            let (kept, ready) = try prepare(loop)
            started.with { $0 = ready }
            started.wake()
            try withExtendedLifetime(kept) { try loop.run() }
            source.stop()
        } catch {
            preconditionFailure("the server under test: \(error)")
        }
    }
    let ready = started.wait(until: { $0 != nil }) { $0 }
    let result = Result { if let ready { try body(ready) } }
    stop.post(true)
    thread.join()
    try result.get()
}

/// Serves `handle` on a Unix socket, and gives its path.
func withServer(
    limits: HTTPServerLimits = HTTPServerLimits(), _ handle: @escaping @Sendable (HTTPExchange) -> Void,
    _ body: (String) throws -> Void
) throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/server.sock"
    try withLoop({ loop in
        let server = HTTPServer(on: loop, limits: limits, handle)
        try server.listen(taking: Socket.listenUnix(path))
        return (server, path)
    }) { path in try body(path) }
}

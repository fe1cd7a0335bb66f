internal import Posix
internal import Reactor

/// SIGTERM and SIGINT stop the daemon, SIGHUP reloads it.
final class SignalWatch: ReadyHandler {
    private let source: SignalSource
    private unowned let thread: LoopThread
    private var registration: EventLoop.Registration?

    init(_ source: consuming SignalSource, on thread: LoopThread) {
        self.source = source
        self.thread = thread
    }

    func start() throws(Errno) {
        registration = try thread.loop.register(source.descriptor.number, .readable, handler: self)
    }

    func ready(_ readiness: Readiness, registration: EventLoop.Registration) {
        while let signal = try? source.next() {
            switch signal {
            case .terminate: thread.beginStopping("SIGTERM")
            case .interrupt: thread.beginStopping("SIGINT")
            case .hangUp: thread.reload()
            case .abort, .kill: return
            }
        }
    }

    func stop() {
        if let registration { thread.loop.deregister(registration) }
        registration = nil
    }
}

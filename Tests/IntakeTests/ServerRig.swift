import Bytes
import Intake
import Posix
import Queue
import Reactor
import Testing
import Time

/// A server on a real Unix socket, turned by hand, with a disk that does what the test says.
final class ServerRig {
    enum Disk {
        case durable
        case refusing(Refusal)
        case stuck
    }

    let loop: EventLoop
    let admission = Admission(context: context, recent: noneRecent)
    let server: IntakeServer
    let path: String
    var disk = Disk.durable
    private(set) var stored: [String] = []
    private var sequence: UInt64 = 1

    init(_ limits: IntakeLimits = IntakeLimits()) throws {
        Process.ignoreFatalWriteSignals()
        loop = try EventLoop()
        server = IntakeServer(loop: loop, admission: admission, limits: limits) { WallTime(milliseconds: 1) }
        path = "/tmp/uplinkd-intake-\(Process.identifier)-\(SystemRandom.bits()).sock"
        try server.listen(taking: Socket.listenUnix(path))
    }

    deinit { try? FileSystem.unlink(path) }

    func connect() throws -> Client { Client(try Socket.connectUnix(path)) }

    /// Turns the loop until nothing more happens for a few turns, or `done` holds.
    func turn(until done: () -> Bool = { false }) throws {
        for _ in 0..<400 {
            try loop.turn(limit: .milliseconds(1))
            commit()
            if done() { return }
        }
    }

    private func commit() {
        if case .stuck = disk { return }
        guard admission.hasEvents else { return }
        let (ordinal, batches) = admission.seal()
        let outcomes = batches.map { batch -> BatchOutcome in
            if case .refusing(let refusal) = disk { return .refused(refusal) }
            stored += events(of: batch)
            sequence += UInt64(batch.count)
            return .durable(epoch: epoch, first: sequence - UInt64(batch.count))
        }
        server.settled(ordinal: ordinal, outcomes: outcomes)
    }

    /// A client of the test, which never blocks.
    final class Client {
        private var socket: FileDescriptor?
        private(set) var received: [UInt8] = []
        private(set) var hasEnded = false
        private(set) var isReset = false

        init(_ socket: consuming FileDescriptor) { self.socket = consume socket }

        /// Sends as much as the kernel takes; how many bytes that were.
        @discardableResult
        func send(_ bytes: [UInt8]) -> Int {
            var sent = 0
            while sent < bytes.count {
                switch socket {
                case .some(let socket):
                    guard case .bytes(let count)? = try? socket.send(bytes, in: sent..<bytes.count) else { return sent }
                    sent += count
                case .none: return sent
                }
            }
            return sent
        }

        func send(_ text: String) { send(Array(text.utf8)) }

        func endOutput() {
            switch socket {
            case .some(let socket): try? socket.shutdownWrite()
            case .none: return
            }
        }

        func close() { _ = socket.take() }

        /// Reads what has come.
        func read() {
            while !hasEnded, !isReset {
                switch socket {
                case .some(let socket):
                    do throws(Errno) {
                        guard case .bytes(let count) = try socket.receive(upTo: 65_536, into: &received) else { return }
                        if count == 0 { hasEnded = true }
                    } catch {
                        isReset = true
                    }
                case .none: return
                }
            }
        }

        var text: String {
            read()
            return received.text
        }
    }
}

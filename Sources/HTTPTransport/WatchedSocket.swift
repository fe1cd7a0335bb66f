internal import CCurl
internal import Posix
internal import Reactor

/// A socket of libcurl's that the event loop watches.
final class WatchedSocket: ReadyHandler {
    private let number: Int32
    private weak var pool: Pool?
    var registration: EventLoop.Registration?
    var interest: Readiness = []
    /// The transfer that uses it, or did last.
    private(set) weak var transfer: Transfer?
    /// Bytes that had come before it did.
    private var receivedBefore: UInt64 = 0

    init(_ number: Int32, of pool: Pool) {
        self.number = number
        self.pool = pool
    }

    /// Notes which transfer uses it from now on.
    func serve(_ new: Transfer?) {
        guard new !== transfer else { return }
        transfer = new
        receivedBefore = ccurl_received_count(number)
    }

    /// True where so much has come for the transfer that its answer's framing must have no end.
    var isFlooded: Bool { ccurl_received_count(number) > receivedBefore + Transfer.wireLimit }

    func ready(_ readiness: Readiness, registration: EventLoop.Registration) {
        pool?.socketReady(number, readiness)
    }
}

extension Pool {
    /// libcurl wants a socket watched in another way.
    func watch(_ number: Int32, _ what: Int32, for transfer: Transfer?) {
        let interest: Readiness
        switch what {
        case CURL_POLL_IN: interest = .readable
        case CURL_POLL_OUT: interest = .writable
        case CURL_POLL_INOUT: interest = [.readable, .writable]
        default: return forget(number)
        }
        do throws(Errno) {
            let socket = sockets[number] ?? WatchedSocket(number, of: self)
            if let registration = socket.registration {
                try loop.modify(registration, interest)
            } else {
                socket.registration = try loop.register(number, interest, handler: socket)
                sockets[number] = socket
            }
            socket.interest = interest
            socket.serve(transfer)
        } catch {
            // The kernel can watch no more descriptors: the transfer ends by its time limit.
            forget(number)
        }
    }

    /// libcurl has made a socket, perhaps with the number of one that counts as watched and that it has closed.
    func made(_ number: Int32) {
        guard let socket = sockets[number], let registration = socket.registration else { return }
        _ = loop.deregisterIfOpen(registration)
        socket.registration = nil
        do throws(Errno) {
            socket.registration = try loop.register(number, socket.interest, handler: socket)
        } catch {
            forget(number)
        }
    }

    /// No socket is watched any more; libcurl has closed all.
    func forgetAll() {
        for number in Array(sockets.keys) { forget(number) }
    }

    private func forget(_ number: Int32) {
        guard let registration = sockets.removeValue(forKey: number)?.registration else { return }
        guard !loop.deregisterIfOpen(registration) else { return }
        // libcurl 7.88 closes one that did not connect in time before it says so (cf_socket_close), and then has
        // nothing call it until the time for all addresses is over: the next address would never be tried.
        loop.schedule(at: loop.now) { [weak self] in self?.lookAtAll() }
    }

    /// Has libcurl tell of each socket that it makes for this handle.
    func prepareSockets(of easy: EasyHandle) {
        easy.noteSocketFailure()
        easy.check(unsafe ccurl_set_made(easy.raw, noteMade, Unmanaged.passUnretained(self).toOpaque()))
    }
}

/// libcurl's callback for a new socket: how long the kernel waits for the peer to acknowledge is set on it.
private func noteMade(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ purpose: curlsocktype) -> Int32 {
    unsafe pool(context).made(socket)
    return ccurl_prepare_socket(socket, Pool.userTimeoutMilliseconds)
}

private func pool(_ context: UnsafeMutableRawPointer?) -> Pool {
    guard let context = unsafe context else { preconditionFailure("libcurl lost its context") }
    return unsafe Unmanaged<Pool>.fromOpaque(context).takeUnretainedValue()
}

/// libcurl's socket callback.
func noteSocket(
    _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32, _ context: UnsafeMutableRawPointer?,
    _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    let transfer = unsafe easy.flatMap { unsafe Transfer.attached(to: $0) }
    unsafe pool(context).watch(socket, what, for: transfer)
    return 0
}

/// libcurl's timer callback.
func noteTimer(_ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?) -> Int32 {
    unsafe pool(context).setTimer(milliseconds: milliseconds)
    return 0
}

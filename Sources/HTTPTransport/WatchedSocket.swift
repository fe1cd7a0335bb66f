internal import CCurl
internal import Posix
internal import Reactor

/// A socket of libcurl's that the event loop watches.
final class WatchedSocket: ReadyHandler {
    private let number: Int32
    private weak var pool: Pool?
    var registration: EventLoop.Registration?

    init(_ number: Int32, of pool: Pool) {
        self.number = number
        self.pool = pool
    }

    func ready(_ readiness: Readiness, registration: EventLoop.Registration) {
        pool?.socketReady(number, readiness)
    }
}

extension Pool {
    /// libcurl wants a socket watched in another way.
    func watch(_ number: Int32, _ what: Int32) {
        let interest: Readiness
        switch what {
        case CURL_POLL_IN: interest = .readable
        case CURL_POLL_OUT: interest = .writable
        case CURL_POLL_INOUT: interest = [.readable, .writable]
        default: return forget(number)
        }
        do throws(Errno) {
            if let registration = sockets[number]?.registration {
                try loop.modify(registration, interest)
            } else {
                let socket = WatchedSocket(number, of: self)
                socket.registration = try loop.register(number, interest, handler: socket)
                sockets[number] = socket
            }
        } catch {
            // The kernel can watch no more descriptors: the transfer ends by its time limit.
            forget(number)
        }
    }

    private func forget(_ number: Int32) {
        if let registration = sockets.removeValue(forKey: number)?.registration { loop.deregister(registration) }
    }
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
    unsafe pool(context).watch(socket, what)
    return 0
}

/// libcurl's timer callback.
func noteTimer(_ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?) -> Int32 {
    unsafe pool(context).setTimer(milliseconds: milliseconds)
    return 0
}

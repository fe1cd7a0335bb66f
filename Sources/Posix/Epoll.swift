internal import CLinux

/// What a descriptor waits for, or is ready for (epoll_ctl(2)).
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = Readiness(rawValue: CL_EPOLLIN)
    package static let writable = Readiness(rawValue: CL_EPOLLOUT)
    /// Reported even when not asked for.
    package static let failed = Readiness(rawValue: CL_EPOLLERR)
    /// Both directions ended; reported even when not asked for.
    package static let hungUp = Readiness(rawValue: CL_EPOLLHUP)
    package static let peerClosed = Readiness(rawValue: CL_EPOLLRDHUP)
    /// Asks to be told of each change, not for as long as it lasts.
    package static let onChange = Readiness(rawValue: CL_EPOLLET)
}

/// A level-triggered set of descriptors (epoll(7)).
package struct Epoll: ~Copyable {
    private let descriptor: FileDescriptor
    private var data: [UInt64] = Array(repeating: 0, count: 64)
    private var events: [UInt32] = Array(repeating: 0, count: 64)

    /// An empty set.
    package init() throws(Errno) {
        descriptor = FileDescriptor(taking: try checked(cl_epoll_create()))
    }

    /// Adds a descriptor; `token` comes back with its events.
    package func add(_ number: Int32, _ interest: Readiness, token: UInt64) throws(Errno) {
        try checked(cl_epoll_control(descriptor.number, CL_EPOLL_ADD, number, interest.rawValue, token))
    }

    /// Changes what a descriptor waits for.
    package func modify(_ number: Int32, _ interest: Readiness, token: UInt64) throws(Errno) {
        try checked(cl_epoll_control(descriptor.number, CL_EPOLL_MODIFY, number, interest.rawValue, token))
    }

    /// Takes a descriptor out.
    package func remove(_ number: Int32) throws(Errno) {
        try checked(cl_epoll_control(descriptor.number, CL_EPOLL_REMOVE, number, 0, 0))
    }

    /// Takes a descriptor out that others may have closed; false where they have, by which the kernel took it out.
    package func removeIfOpen(_ number: Int32) -> Bool {
        cl_epoll_control(descriptor.number, CL_EPOLL_REMOVE, number, 0, 0) >= 0
    }

    /// Waits at most `milliseconds` (-1: for ever) and gives each of at most 64 ready descriptors to `body`.
    package mutating func wait(
        milliseconds: Int32, _ body: (_ token: UInt64, _ ready: Readiness) -> Void
    ) throws(Errno) {
        let count = try checked(
            cl_epoll_wait(descriptor.number, &data, &events, Int32(data.count), milliseconds))
        for index in 0..<Int(count) { body(data[index], Readiness(rawValue: events[index])) }
    }
}

/// A counter that wakes another thread's loop (eventfd(2)).
package struct EventCounter: ~Copyable, Sendable {
    /// Readable while the counter is not zero.
    package let descriptor: FileDescriptor

    /// A counter at zero.
    package init() throws(Errno) { descriptor = FileDescriptor(taking: try checked(cl_eventfd())) }

    /// Adds one.
    package borrowing func signal() {
        var one: UInt64 = 1
        _ = cl_write(descriptor.number, &one, 8)
    }

    /// Sets it back to zero.
    package borrowing func clear() {
        var value: UInt64 = 0
        _ = cl_read(descriptor.number, &value, 8)
    }
}

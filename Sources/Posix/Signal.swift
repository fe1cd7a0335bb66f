internal import CLinux

/// The signals that the daemon acts on.
package enum Signal: Int32, Sendable, CaseIterable {
    case hangUp = 1
    case interrupt = 2
    case abort = 6
    case kill = 9
    case terminate = 15
}

/// Signals read as events of a descriptor (signalfd(2)); make it before any thread exists.
package struct SignalSource: ~Copyable {
    /// Readable while a signal waits.
    package let descriptor: FileDescriptor

    /// Blocks `signals` in this thread and those it starts, and takes them here.
    package init(_ signals: [Signal]) throws(Errno) {
        let numbers = signals.map(\.rawValue)
        descriptor = FileDescriptor(taking: try checked(cl_signalfd(numbers, Int32(numbers.count))))
    }

    /// The next signal that waits.
    package borrowing func next() throws(Errno) -> Signal? {
        let result = cl_signal_next(descriptor.number)
        if result == -EAGAIN { return nil }
        return Signal(rawValue: try checked(result))
    }
}

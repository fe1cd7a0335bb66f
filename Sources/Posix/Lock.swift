internal import Glibc

/// A value that one thread at a time may use, with a condition to wait on (pthread_mutex_lock(3)).
///
/// The mutex lives on the heap, which ThreadSanitizer understands; for `Synchronization.Mutex` it reports false races.
package final class Lock<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var value: Value

    /// A lock around `value`.
    package init(_ value: sending Value) {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        precondition(pthread_mutex_init(mutex, nil) == 0)
        // By a clock that nobody sets.
        var attributes = pthread_condattr_t()
        precondition(pthread_condattr_init(&attributes) == 0)
        precondition(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0)
        precondition(pthread_cond_init(condition, &attributes) == 0)
        pthread_condattr_destroy(&attributes)
        self.value = value
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` alone with the value.
    package func with<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    /// Runs `body` alone with the value once `ready` holds; whoever makes it hold calls `wake`.
    package func wait<Result>(
        until ready: (borrowing Value) -> Bool, _ body: (inout sending Value) -> sending Result
    ) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !ready(value) { pthread_cond_wait(condition, mutex) }
        return body(&value)
    }

    /// Runs `body` alone with the value once `ready` holds, or after `span`, whichever comes first.
    package func wait<Result>(
        until ready: (borrowing Value) -> Bool, atMost span: Duration, _ body: (inout sending Value) -> sending Result
    ) -> sending Result {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        // With nanoseconds below zero the call would fail at once, time after time.
        let (seconds, attoseconds) = max(.zero, span).components
        let nanoseconds = deadline.tv_nsec + Int(attoseconds / 1_000_000_000)
        deadline.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !ready(value), pthread_cond_timedwait(condition, mutex, &deadline) != ETIMEDOUT {}
        return body(&value)
    }

    /// Wakes those who wait.
    package func wake() { pthread_cond_broadcast(condition) }
}

internal import CLinux
internal import Glibc
internal import Time

/// A counting semaphore between threads (sem_overview(7)); a wait and a signal cost one system call each, or none.
package final class Semaphore: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    /// A semaphore at zero.
    package init() {
        semaphore = .allocate(capacity: 1)
        precondition(sem_init(semaphore, 0, 0) == 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Adds one.
    package func signal() { sem_post(semaphore) }

    /// Takes one, if there is one.
    package func tryWait() -> Bool { sem_trywait(semaphore) == 0 }

    /// Takes one; blocks until there is one, or until `span` has passed, and then returns false.
    package func wait(atMost span: Duration) -> Bool {
        cl_semaphore_wait(semaphore, cl_clock(CL_CLOCK_MONOTONIC) + max(0, span.nanoseconds)) == 0
    }
}

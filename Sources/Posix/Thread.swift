internal import CLinux
internal import Glibc

/// A thread of the system; what its body captures cannot be used elsewhere any more.
package struct Thread: ~Copyable, Sendable {
    private final class Start {
        let name: String
        let body: () -> Void
        init(name: String, body: @escaping () -> Void) {
            self.name = name
            self.body = body
        }
    }

    private let handle: pthread_t

    /// Starts `body` on a new thread; `name` has at most 15 bytes.
    ///
    /// Throws EAGAIN where the limit of processes or of memory leaves room for none (pthread_create(3)).
    package init(name: String, _ body: sending @escaping () -> Void) throws(Errno) {
        precondition(name.utf8.count <= 15)
        var thread = pthread_t()
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        let failed = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                _ = cl_thread_name(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        guard failed == 0 else {
            start.release()
            throw Errno(code: failed)
        }
        handle = thread
    }

    /// Waits for its end.
    package consuming func join() {
        pthread_join(handle, nil)
        discard self
    }

    deinit { pthread_detach(handle) }
}

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
    package init(name: String, _ body: sending @escaping () -> Void) {
        precondition(name.utf8.count <= 15)
        var thread = pthread_t()
        let failed = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                _ = cl_thread_name(start.name)
                start.body()
                return nil
            }, Unmanaged.passRetained(Start(name: name, body: body)).toOpaque())
        precondition(failed == 0, "no thread can be made")
        handle = thread
    }

    /// Waits for its end.
    package consuming func join() {
        pthread_join(handle, nil)
        discard self
    }

    deinit { pthread_detach(handle) }
}

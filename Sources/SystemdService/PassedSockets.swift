internal import CSystemd
package import Posix

/// What is wrong with the sockets that systemd passed.
package enum PassedSocketError: Error, Sendable, Equatable {
    /// Neither `events` nor `control` (FileDescriptorName=).
    case unknownName(String)
    /// Not a listening Unix stream socket, or it cannot be used.
    case notListening(String)
    /// Two of one name.
    case repeated(String)
    /// The environment cannot be read.
    case failed(Errno)
}

/// The listening sockets of the socket units (sd_listen_fds_with_names(3)).
package struct PassedSockets: ~Copyable {
    /// Where local programs post.
    package var events: FileDescriptor?
    /// Where operators ask.
    package var control: FileDescriptor?

    private struct Passed {
        let number: Int32
        let name: String
    }

    /// Takes what was passed and clears the environment, so that a second call finds none.
    package static func take() throws(PassedSocketError) -> PassedSockets {
        var passed: [Passed] = []
        let result = unsafe withUnsafeMutablePointer(to: &passed) { list in
            unsafe cs_passed_descriptors(list) { context, number, name in
                guard let context = unsafe context, let name = unsafe name else { return }
                let list = unsafe context.assumingMemoryBound(to: [Passed].self)
                unsafe list.pointee.append(Passed(number: number, name: String(cString: name)))
            }
        }
        guard result >= 0 else { throw .failed(Errno(code: -result)) }
        var sockets = PassedSockets()
        for socket in passed { try sockets.add(socket) }
        return sockets
    }

    private mutating func add(_ socket: Passed) throws(PassedSocketError) {
        guard Socket.isListeningUnix(socket.number) else { throw .notListening(socket.name) }
        let descriptor: FileDescriptor
        do throws(Errno) {
            descriptor = try Socket.adopt(socket.number)
        } catch {
            throw .failed(error)
        }
        switch socket.name {
        case "events":
            guard events == nil else { throw .repeated(socket.name) }
            events = consume descriptor
        case "control":
            guard control == nil else { throw .repeated(socket.name) }
            control = consume descriptor
        default: throw .unknownName(socket.name)
        }
    }
}

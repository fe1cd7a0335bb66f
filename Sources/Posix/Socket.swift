package import Bytes
internal import CLinux

/// Who is at the other end of a Unix socket, as of its connect(2).
package struct PeerCredentials: Sendable, Equatable {
    package let process: UInt32
    package let user: UInt32
    package let group: UInt32
}

/// What came of a read or write that must not block.
package enum Transferred: Sendable, Equatable {
    /// So many bytes; 0 from a read is the end of the stream.
    case bytes(Int)
    case wouldBlock
}

/// Socket calls; every socket is non-blocking and close-on-exec.
package enum Socket {
    /// A listening Unix stream socket at `path`, which must not exist.
    package static func listenUnix(_ path: String, backlog: Int32 = 1_024) throws(Errno) -> FileDescriptor {
        let socket = FileDescriptor(taking: try checked(cl_socket_unix()))
        try checked(cl_bind_unix(socket.number, path))
        try checked(cl_listen(socket.number, backlog))
        return socket
    }

    /// A Unix stream socket connected to `path`; EAGAIN where the listener's backlog is full.
    package static func connectUnix(_ path: String) throws(Errno) -> FileDescriptor {
        let socket = FileDescriptor(taking: try checked(cl_socket_unix()))
        try checked(cl_connect_unix(socket.number, path))
        return socket
    }

    /// A listening TCP socket; `address` in host byte order, port 0 for any.
    package static func listenTCP(address: UInt32, port: UInt16) throws(Errno) -> FileDescriptor {
        let socket = FileDescriptor(taking: try checked(cl_socket_tcp4()))
        try checked(cl_bind_tcp4(socket.number, address, port))
        try checked(cl_listen(socket.number, 1_024))
        return socket
    }

    /// A TCP socket that connects to an address; writable once it has, or has failed, as `takeError` then tells.
    package static func beginTCP(to address: IPAddress, port: UInt16) throws(Errno) -> FileDescriptor {
        let result = address.bytes.withUnsafeBufferPointer { cl_begin_tcp($0.baseAddress, Int32($0.count), port) }
        return FileDescriptor(taking: try checked(result))
    }

    /// The next connection, nil where none waits.
    package static func accept(_ listener: borrowing FileDescriptor) throws(Errno) -> FileDescriptor? {
        let result = cl_accept(listener.number)
        if result == -EAGAIN { return nil }
        return FileDescriptor(taking: try checked(result))
    }

    /// The local TCP port of a socket.
    package static func localPort(_ socket: borrowing FileDescriptor) throws(Errno) -> UInt16 {
        UInt16(try checked(cl_local_port(socket.number)))
    }

    /// True for a listening Unix stream socket.
    package static func isListeningUnix(_ number: Int32) -> Bool { cl_is_listening_unix(number) == 1 }

    /// Marks an inherited descriptor close-on-exec and non-blocking.
    package static func adopt(_ number: Int32) throws(Errno) -> FileDescriptor {
        try checked(cl_set_cloexec(number))
        try checked(cl_set_blocking(number, 0))
        return FileDescriptor(taking: number)
    }

    /// The name of a group; ENOENT where it has none.
    package static func name(ofGroup number: UInt32) throws(Errno) -> String {
        var name = [CChar](repeating: 0, count: 256)
        try checked(cl_group_name(number, &name, name.count))
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The numeric group of a name; ENOENT where there is none.
    package static func group(named name: String) throws(Errno) -> UInt32 {
        var group: UInt32 = 0
        try checked(cl_group_id(name, &group))
        return group
    }
}

extension FileDescriptor {
    /// Receives up to `count` bytes onto the end of `buffer`.
    package borrowing func receive(upTo count: Int, into buffer: inout [UInt8]) throws(Errno) -> Transferred {
        do throws(Errno) {
            return .bytes(try appendUninitialised(to: &buffer, count: count) { cl_recv(number, $0, count) })
        } catch {
            if error == .wouldBlock { return .wouldBlock }
            throw error
        }
    }

    /// Sends from part of `bytes`, without SIGPIPE.
    package borrowing func send(_ bytes: borrowing [UInt8], in range: Range<Int>) throws(Errno) -> Transferred {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
        let result = bytes.withUnsafeBytes { raw -> Int64 in
            raw.baseAddress.map { cl_send(number, $0 + range.lowerBound, range.count) } ?? 0
        }
        if result == -Int64(EAGAIN) { return .wouldBlock }
        return .bytes(Int(try checked(result)))
    }

    /// Throws the error that waits on a socket (SO_ERROR, socket(7)).
    package borrowing func takeError() throws(Errno) { try checked(cl_take_error(number)) }

    /// Ends the sending direction.
    package borrowing func shutdownWrite() throws(Errno) { try checked(cl_shutdown_write(number)) }

    /// Who connected, by SO_PEERCRED (unix(7)).
    package borrowing func peerCredentials() throws(Errno) -> PeerCredentials {
        var process: UInt32 = 0
        var user: UInt32 = 0
        var group: UInt32 = 0
        try checked(cl_peer(number, &process, &user, &group))
        return PeerCredentials(process: process, user: user, group: group)
    }

    /// Makes it block, or not.
    package borrowing func setBlocking(_ blocking: Bool) throws(Errno) {
        try checked(cl_set_blocking(number, blocking ? 1 : 0))
    }

    /// Waits until it can be read, at most `milliseconds` (-1: for ever).
    package borrowing func waitReadable(milliseconds: Int32) throws(Errno) -> Bool {
        try checked(cl_poll_readable(number, milliseconds)) > 0
    }

    /// Waits until it can be written, at most `milliseconds` (-1: for ever).
    package borrowing func waitWritable(milliseconds: Int32) throws(Errno) -> Bool {
        try checked(cl_poll_writable(number, milliseconds)) > 0
    }
}

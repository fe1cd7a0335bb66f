/// Why a Unix socket could not be bound.
package enum BindError: Error, Sendable, Equatable {
    /// Something that is no socket lies at the path; it is left alone.
    case notASocket(path: String)
    /// A live process accepts connections there, or binds at this moment.
    case inUse(path: String)
    /// The group asked for is unknown.
    case unknownGroup(name: String)
    /// A system call failed.
    case failed(path: String, errno: Errno)
}

/// Binds listening Unix sockets in place of what a dead process left.
package enum UnixListener {
    /// A listening socket at `path` with these permission bits and group; a dead socket file there is replaced.
    ///
    /// It is made under another name beside, and gets its own when all is set, so that nobody ever finds it with
    /// another mode or group, or before it listens. Two processes that start at once are told apart by a lock on
    /// `<path>.lock`, held while one looks and binds.
    package static func bind(_ path: String, mode: UInt32, group: String?) throws(BindError) -> FileDescriptor {
        let groupNumber = try group.map { name throws(BindError) in try number(ofGroup: name) }
        let lock = try calling(path) { () throws(Errno) in
            try FileDescriptor.open(path + ".lock", [.readWrite, .create])
        }
        guard try calling(path, { () throws(Errno) in try lock.tryLock() }) else { throw .inUse(path: path) }
        defer { try? FileSystem.unlink(path + ".lock") }
        let unfinished = unfinishedName(path)
        try removeDeadSocket(unfinished)
        try removeDeadSocket(path)
        return try calling(path) { () throws(Errno) in
            let listener = try Socket.listenUnix(unfinished)
            do throws(Errno) {
                if let groupNumber { try FileSystem.setGroup(unfinished, groupNumber) }
                try FileSystem.setMode(unfinished, mode)
                try FileSystem.rename(unfinished, to: path)
            } catch {
                try? FileSystem.unlink(unfinished)
                throw error
            }
            return listener
        }
    }

    /// `events.soc~` of `events.sock`: no longer, for a socket's path is short.
    private static func unfinishedName(_ path: String) -> String {
        path.dropLast() + (path.hasSuffix("~") ? "-" : "~")
    }

    private static func removeDeadSocket(_ path: String) throws(BindError) {
        let status: FileStatus
        do throws(Errno) {
            status = try FileSystem.status(of: path)
        } catch {
            if error == .noEntry { return }
            throw .failed(path: path, errno: error)
        }
        guard status.kind == .socket else { throw .notASocket(path: path) }
        do throws(Errno) {
            _ = try Socket.connectUnix(path)
        } catch {
            guard error == .connectionRefused else { throw .inUse(path: path) }
            return try calling(path) { () throws(Errno) in try FileSystem.unlink(path) }
        }
        throw .inUse(path: path)
    }

    private static func number(ofGroup name: String) throws(BindError) -> UInt32 {
        do throws(Errno) {
            return try Socket.group(named: name)
        } catch {
            throw .unknownGroup(name: name)
        }
    }

    private static func calling<Result: ~Copyable>(
        _ path: String, _ body: () throws(Errno) -> Result
    ) throws(BindError) -> Result {
        do throws(Errno) {
            return try body()
        } catch {
            throw .failed(path: path, errno: error)
        }
    }
}

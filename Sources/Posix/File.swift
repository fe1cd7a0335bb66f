internal import CLinux

/// What the file system says of a file, without following a final symbolic link.
package struct FileStatus: Sendable, Equatable {
    /// What kind of thing a name stands for.
    package enum Kind: Sendable, Equatable { case regular, directory, socket, other }

    /// Length in bytes.
    package let size: Int64
    /// Bytes taken on disk, as `du` counts.
    package let allocated: Int64
    package let kind: Kind
    /// Permission bits.
    package let mode: UInt32
    package let owner: UInt32
    package let group: UInt32
    package let device: UInt64
    package let inode: UInt64
    /// Major and minor number of the device that holds it.
    package let deviceMajor: UInt32
    package let deviceMinor: UInt32

    init(_ raw: cl_status) {
        size = raw.size
        allocated = raw.allocated
        switch raw.type {
        case CL_TYPE_REGULAR: kind = .regular
        case CL_TYPE_DIRECTORY: kind = .directory
        case CL_TYPE_SOCKET: kind = .socket
        default: kind = .other
        }
        mode = raw.mode
        owner = raw.owner
        group = raw.group
        device = raw.device
        inode = raw.inode
        deviceMajor = raw.device_major
        deviceMinor = raw.device_minor
    }
}

/// Room on a file system.
package struct FileSystemSpace: Sendable, Equatable {
    /// Bytes in all.
    package let total: UInt64
    /// Bytes that an unprivileged process may still use.
    package let available: UInt64
    /// Files that it may still make; `UInt64.max` where the file system sets no limit.
    package let files: UInt64
    package let isReadOnly: Bool
}

/// How a file is opened.
package struct OpenOptions: OptionSet, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let readOnly = OpenOptions(rawValue: CL_O_RDONLY)
    package static let readWrite = OpenOptions(rawValue: CL_O_RDWR)
    package static let create = OpenOptions(rawValue: CL_O_CREATE)
    package static let exclusive = OpenOptions(rawValue: CL_O_EXCLUSIVE)
    package static let truncate = OpenOptions(rawValue: CL_O_TRUNCATE)
    package static let append = OpenOptions(rawValue: CL_O_APPEND)
    package static let directory = OpenOptions(rawValue: CL_O_DIRECTORY)
    package static let noFollow = OpenOptions(rawValue: CL_O_NOFOLLOW)
    /// Opening never waits, not for the writer of a FIFO either.
    package static let nonBlocking = OpenOptions(rawValue: CL_O_NONBLOCK)
}

extension FileDescriptor {
    /// Opens a file; close-on-exec always.
    package static func open(
        _ path: String, _ options: OpenOptions, mode: UInt32 = 0o600
    ) throws(Errno) -> FileDescriptor {
        FileDescriptor(taking: try checked(cl_open(path, options.rawValue, mode)))
    }

    /// Where a file goes on with bytes that are no hole, at or behind `offset` (SEEK_DATA of lseek(2)); nil where it
    /// has none.
    package borrowing func dataStart(from offset: Int64) throws(Errno) -> Int64? {
        do throws(Errno) {
            return try checked(cl_seek_data(number, offset))
        } catch  where error == .noAddress {
            return nil
        }
    }

    /// Reads up to `count` bytes at `offset` onto the end of `buffer`; the number read, less only at the end.
    package borrowing func read(
        upTo count: Int, at offset: Int64, into buffer: inout [UInt8]
    ) throws(Errno) -> Int {
        var done = 0
        while done < count {
            let left = count - done
            let at = offset + Int64(done)
            let got = try appendUninitialised(to: &buffer, count: left) { cl_pread(number, $0, left, at) }
            if got == 0 { break }
            done += got
        }
        return done
    }

    /// Writes part of `bytes` at `offset`, all of it.
    package borrowing func write(
        _ bytes: borrowing [UInt8], in range: Range<Int>, at offset: Int64
    ) throws(Errno) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
        var done = 0
        while done < range.count {
            let result = bytes.withUnsafeBytes { raw -> Int64 in
                guard let base = raw.baseAddress else { return 0 }
                return cl_pwrite(
                    number, base + range.lowerBound + done, range.count - done, offset + Int64(done))
            }
            let wrote = Int(try checked(result))
            if wrote == 0 { throw Errno.io }
            done += wrote
        }
    }

    /// Makes the file's data durable, and of its metadata what is needed to read it (fdatasync(2)).
    package borrowing func synchroniseData() throws(Errno) { try checked(cl_fdatasync(number)) }

    /// Makes the file's data and metadata durable (fsync(2)); on a directory, its names.
    package borrowing func synchronise() throws(Errno) { try checked(cl_fsync(number)) }

    /// Takes blocks up to a length, which the file has then; what had none reads as zeros (fallocate(2)).
    package borrowing func allocate(_ size: Int64) throws(Errno) { try checked(cl_allocate(number, size)) }

    /// Gives the blocks of a range back, which reads as zeros then; the length stays (fallocate(2)).
    package borrowing func punchHole(in range: Range<Int64>) throws(Errno) {
        try checked(cl_punch_hole(number, range.lowerBound, range.upperBound - range.lowerBound))
    }

    /// Sets the file's length.
    package borrowing func setSize(_ size: Int64) throws(Errno) { try checked(cl_truncate(number, size)) }

    /// What the file system says of it.
    package borrowing func status() throws(Errno) -> FileStatus {
        var raw = cl_status()
        try checked(cl_fstat(number, &raw))
        return FileStatus(raw)
    }

    /// Takes the exclusive lock (flock(2)) without waiting; false where another open file holds it.
    package borrowing func tryLock() throws(Errno) -> Bool {
        do throws(Errno) {
            try checked(cl_lock_exclusive(number))
            return true
        } catch {
            if error == .wouldBlock { return false }
            throw error
        }
    }

    /// Tells the kernel that these cached bytes are not needed again.
    package borrowing func dropCache(at offset: Int64, count: Int64) { _ = cl_drop_cache(number, offset, count) }

    /// Asks for writing in place on a copy-on-write file system; no effect elsewhere.
    package borrowing func avoidCopyOnWrite() { _ = cl_no_copy_on_write(number) }
}

/// Calls on paths.
package enum FileSystem {
    /// What the file system says of a name.
    package static func status(of path: String) throws(Errno) -> FileStatus {
        var raw = cl_status()
        try checked(cl_stat(path, &raw))
        return FileStatus(raw)
    }

    /// What the file system says of an open descriptor that another owns.
    package static func status(ofDescriptor number: Int32) throws(Errno) -> FileStatus {
        var raw = cl_status()
        let result = cl_fstat(number, &raw)
        guard result == 0 else { throw Errno(code: -Int32(result)) }
        return FileStatus(raw)
    }

    /// Room on the file system that holds `path`.
    package static func space(at path: String) throws(Errno) -> FileSystemSpace {
        var raw = cl_space()
        try checked(cl_statvfs(path, &raw))
        return FileSystemSpace(
            total: raw.total, available: raw.available, files: raw.files, isReadOnly: raw.read_only != 0)
    }

    package static func rename(_ from: String, to: String) throws(Errno) { try checked(cl_rename(from, to)) }
    package static func unlink(_ path: String) throws(Errno) { try checked(cl_unlink(path)) }
    package static func removeDirectory(_ path: String) throws(Errno) { try checked(cl_rmdir(path)) }

    package static func makeDirectory(_ path: String, mode: UInt32) throws(Errno) {
        try checked(cl_mkdir(path, mode))
    }

    package static func setMode(_ path: String, _ mode: UInt32) throws(Errno) { try checked(cl_chmod(path, mode)) }

    package static func setGroup(_ path: String, _ group: UInt32) throws(Errno) {
        try checked(cl_chown(path, UInt32.max, group))
    }

    /// Makes the names in a directory durable.
    package static func synchroniseDirectory(_ path: String) throws(Errno) {
        try FileDescriptor.open(path, [.readOnly, .directory]).synchronise()
    }

    /// The names in a directory, sorted by their bytes, without `.` and `..`.
    package static func names(in path: String) throws(Errno) -> [String] {
        var found: [String] = []
        let result = withUnsafeMutablePointer(to: &found) { list in
            cl_list(
                path,
                { context, name in
                    guard let context, let name else { return 1 }
                    context.assumingMemoryBound(to: [String].self).pointee.append(String(cString: name))
                    return 0
                }, list)
        }
        try checked(result)
        return found.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The whole of a regular file, refused (EFBIG) over `limit` bytes.
    ///
    /// Anything else is refused (EISDIR, EINVAL): a FIFO or a device may have no end, or keep its reader waiting.
    package static func contents(of path: String, limit: Int) throws(Errno) -> [UInt8] {
        let file = try FileDescriptor.open(path, [.readOnly, .nonBlocking])
        switch try file.status().kind {
        case .regular: break
        case .directory: throw Errno.isDirectory
        case .socket, .other: throw Errno.invalid
        }
        var bytes: [UInt8] = []
        while try file.read(upTo: min(65_536, limit + 1 - bytes.count), into: &bytes) > 0 {
            if bytes.count > limit { throw Errno.fileTooLarge }
        }
        return bytes
    }
}

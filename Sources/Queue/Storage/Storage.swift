package import Posix

/// The files of one queue; every path is relative to its directory, `""` being the directory itself.
///
/// Durability is that of Linux: bytes are durable after `synchroniseData`, names after `synchroniseDirectory` of their
/// directory. Used by one thread.
package protocol Storage: AnyObject {
    /// What the errors name: the directory's path.
    var root: String { get }
    /// The physical block of the device in bytes, 4,096 where it is not known.
    var physicalBlock: Int { get }
    /// The user that the process runs as.
    var user: UInt32 { get }

    /// Opens a file for reading, and for writing where the mode says so.
    ///
    /// - Throws: ENOENT where it is missing and not to be created, EEXIST where a new one is asked for and it is there.
    func open(_ path: String, _ mode: StorageMode) throws(Errno) -> any StorageFile
    /// What stands under a name, without following a symbolic link; ENOENT where nothing does.
    func status(of path: String) throws(Errno) -> StorageStatus
    /// Makes a directory of mode 0700.
    func createDirectory(_ path: String) throws(Errno)
    /// The names in a directory but `.` and `..`, sorted by their bytes.
    func names(in path: String) throws(Errno) -> [String]
    /// Gives a file another name, taking the place of what has it.
    func rename(_ from: String, to: String) throws(Errno)
    /// Removes a file's name.
    func unlink(_ path: String) throws(Errno)
    /// Makes the names in a directory durable.
    func synchroniseDirectory(_ path: String) throws(Errno)
    /// Room on the file system.
    func space() throws(Errno) -> StorageSpace
}

extension Storage {
    /// Runs a call on a file and says, should it fail, which.
    func attempt<Value>(
        _ operation: QueueError.Operation, _ path: String, at offset: Int = 0, _ body: () throws(Errno) -> Value
    ) throws(QueueError) -> Value {
        do throws(Errno) {
            return try body()
        } catch {
            throw .failed(operation, path: path.isEmpty ? root : root + "/" + path, offset: offset, error)
        }
    }

    /// Makes a directory of mode 0700; nothing where it is there already.
    func createDirectoryIfMissing(_ path: String) throws(Errno) {
        do throws(Errno) { try createDirectory(path) } catch  where error == .exists {}
    }

    /// Removes a file's name; nothing where it is gone already.
    func unlinkIfThere(_ path: String) throws(QueueError) {
        try attempt(.unlink, path) { () throws(Errno) in
            do throws(Errno) { try unlink(path) } catch  where error == .noEntry {}
        }
    }
}

/// How a file is opened.
package enum StorageMode: Sendable, Equatable {
    case readOnly
    case readWrite
    /// For reading and writing, made where it is missing; mode 0600.
    case create
    /// For reading and writing, refused (EEXIST) where it is there.
    case createNew
}

/// What stands under a name.
package struct StorageStatus: Sendable, Equatable {
    /// What kind of thing it is.
    package enum Kind: Sendable, Equatable { case regular, directory, other }

    package let kind: Kind
    /// Length in bytes.
    package let size: Int
    /// Bytes on disk, no more than its length.
    package let allocated: Int
    package let owner: UInt32

    /// `allocated` nil: as many as it is long.
    package init(kind: Kind, size: Int, allocated: Int? = nil, owner: UInt32) {
        self.kind = kind
        self.size = size
        self.allocated = min(size, allocated ?? size)
        self.owner = owner
    }
}

/// Room on a file system.
package struct StorageSpace: Sendable, Equatable {
    /// Bytes in all.
    package let total: UInt64
    /// Bytes that this process may still use.
    package let available: UInt64
    /// Files that it may still make; `UInt64.max` where there is no limit.
    package let files: UInt64

    /// What a file system says that counts below zero for a moment, as XFS does at its end, is none.
    package init(total: UInt64, available: UInt64, files: UInt64 = .max) {
        self.total = total
        self.available = available <= total ? available : 0
        self.files = files
    }
}

/// An open file, closed when its last reference goes.
package protocol StorageFile: AnyObject {
    /// Reads up to `count` bytes at `offset` onto the end of `buffer`; the number read, 0 at the file's end, less than
    /// there are before bytes that the disk cannot give.
    func read(upTo count: Int, at offset: Int, into buffer: inout [UInt8]) throws(Errno) -> Int
    /// Writes part of `bytes` at `offset`, all of it, the file growing as needed.
    func write(_ bytes: borrowing [UInt8], in range: Range<Int>, at offset: Int) throws(Errno)
    /// Takes room up to a length; what is behind the old end reads as zeros.
    func allocate(_ size: Int) throws(Errno)
    /// Gives back the room of a range that holds zeros, and still does then, where the file system can.
    func release(_ range: Range<Int>) throws(Errno)
    /// Makes the data durable, and the size where it grew (fdatasync(2)).
    func synchroniseData() throws(Errno)
    /// Length in bytes.
    func size() throws(Errno) -> Int
    /// Where the bytes at or behind `offset` begin that are not known to be zeros; nil where there are none.
    func dataStart(from offset: Int) -> Int?
    /// Takes the exclusive lock (flock(2)) without waiting; false where another open file holds it.
    func tryLock() throws(Errno) -> Bool
}

extension StorageFile {
    /// Of no bytes it is known.
    package func dataStart(from offset: Int) -> Int? { offset }

    package func release(_ range: Range<Int>) throws(Errno) {}

    package func allocate(_ size: Int) throws(Errno) { throw .notSupported }
}

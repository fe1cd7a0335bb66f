internal import Posix

/// The files of a queue for one who only looks: whatever would change something is refused (EROFS).
///
/// The lock is not taken, and only regular files are opened, which no FIFO can hold up.
final class ReadOnlyStorage: Storage {
    let root: String
    let physicalBlock: Int
    let user: UInt32

    private let base: any Storage

    init(_ base: any Storage) {
        self.base = base
        root = base.root
        physicalBlock = base.physicalBlock
        user = base.user
    }

    func open(_ path: String, _ mode: StorageMode) throws(Errno) -> any StorageFile {
        guard mode == .readOnly else { throw .readOnly }
        guard try base.status(of: path).kind == .regular else { throw .invalid }
        return ReadOnlyFile(try base.open(path, .readOnly))
    }

    func status(of path: String) throws(Errno) -> StorageStatus { try base.status(of: path) }

    func names(in path: String) throws(Errno) -> [String] { try base.names(in: path) }

    func space() throws(Errno) -> StorageSpace { try base.space() }

    func createDirectory(_ path: String) throws(Errno) { throw .readOnly }

    func rename(_ from: String, to: String) throws(Errno) { throw .readOnly }

    func unlink(_ path: String) throws(Errno) { throw .readOnly }

    func synchroniseDirectory(_ path: String) throws(Errno) { throw .readOnly }
}

/// An open file that is only read.
private final class ReadOnlyFile: StorageFile {
    private let base: any StorageFile

    init(_ base: any StorageFile) { self.base = base }

    func read(upTo count: Int, at offset: Int, into buffer: inout [UInt8]) throws(Errno) -> Int {
        try base.read(upTo: count, at: offset, into: &buffer)
    }

    func write(_ bytes: borrowing [UInt8], in range: Range<Int>, at offset: Int) throws(Errno) { throw .readOnly }

    func synchroniseData() throws(Errno) { throw .readOnly }

    func size() throws(Errno) -> Int { try base.size() }

    func dataStart(from offset: Int) -> Int? { base.dataStart(from: offset) }

    func tryLock() throws(Errno) -> Bool { throw .readOnly }
}

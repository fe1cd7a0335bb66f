import Bytes
import Posix
import Queue

/// A disk that holds one file, which cannot be made longer or be written durably.
final class OneFile: Storage, StorageFile {
    let root = "/queue"
    let physicalBlock = Block.least
    let user: UInt32 = 0
    var path = ""
    var bytes: [UInt8] = []

    func open(_ path: String, _ mode: StorageMode) throws(Errno) -> any StorageFile {
        guard path == self.path else { throw Errno.noEntry }
        return self
    }

    func read(upTo count: Int, at offset: Int, into buffer: inout [UInt8]) throws(Errno) -> Int {
        let end = min(bytes.count, offset + count)
        guard offset < end else { return 0 }
        buffer.append(bytes, offset..<end)
        return end - offset
    }

    func size() throws(Errno) -> Int { bytes.count }
    func status(of path: String) throws(Errno) -> StorageStatus { throw .noEntry }
    func names(in path: String) throws(Errno) -> [String] { [] }
    func write(_ bytes: borrowing [UInt8], in range: Range<Int>, at offset: Int) throws(Errno) { throw .io }
    func synchroniseData() throws(Errno) { throw .io }
    func tryLock() throws(Errno) -> Bool { true }
    func createDirectory(_ path: String) throws(Errno) { throw .io }
    func rename(_ from: String, to: String) throws(Errno) { throw .io }
    func unlink(_ path: String) throws(Errno) { throw .io }
    func synchroniseDirectory(_ path: String) throws(Errno) { throw .io }
    func space() throws(Errno) -> StorageSpace { StorageSpace(total: 0, available: 0) }
}

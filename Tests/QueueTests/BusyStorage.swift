import Posix
import Queue
import Testing

/// A disk on which somebody else is at work between any two calls.
final class BusyStorage: Storage {
    let base: any Storage
    /// Done before each call.
    var before: (MemoryStorage.Call) throws -> Void = { _ in }
    /// What becomes of a listing.
    var edit: (String, [String]) -> [String] = { _, names in names }
    /// Decides, of each name that came or went while a folder was listed, whether it is told (readdir(3)).
    var mixesListings: (() -> Bool)?

    init(_ base: any Storage) { self.base = base }

    var root: String { base.root }
    var physicalBlock: Int { base.physicalBlock }
    var user: UInt32 { base.user }

    func act(_ call: MemoryStorage.Call) {
        do { try before(call) } catch { Issue.record(error) }
    }

    func open(_ path: String, _ mode: StorageMode) throws(Errno) -> any StorageFile {
        act(.open(path))
        return BusyFile(try base.open(path, mode), path, self)
    }

    func status(of path: String) throws(Errno) -> StorageStatus { try base.status(of: path) }

    func names(in path: String) throws(Errno) -> [String] {
        let earlier = try? base.names(in: path)
        act(.names(path))
        let names = try base.names(in: path)
        guard let mixes = mixesListings, let earlier else { return edit(path, names) }
        let told = Set(earlier).symmetricDifference(names).sorted().filter { _ in mixes() }
        return (names.filter(earlier.contains) + told).sorted()
    }

    func createDirectory(_ path: String) throws(Errno) { try base.createDirectory(path) }
    func rename(_ from: String, to: String) throws(Errno) { try base.rename(from, to: to) }
    func unlink(_ path: String) throws(Errno) { try base.unlink(path) }
    func synchroniseDirectory(_ path: String) throws(Errno) { try base.synchroniseDirectory(path) }
    func space() throws(Errno) -> StorageSpace { try base.space() }
}

private final class BusyFile: StorageFile {
    private let base: any StorageFile
    private let path: String
    private let storage: BusyStorage

    init(_ base: any StorageFile, _ path: String, _ storage: BusyStorage) {
        self.base = base
        self.path = path
        self.storage = storage
    }

    func read(upTo count: Int, at offset: Int, into buffer: inout [UInt8]) throws(Errno) -> Int {
        storage.act(.read(path, offset))
        return try base.read(upTo: count, at: offset, into: &buffer)
    }

    func write(_ bytes: borrowing [UInt8], in range: Range<Int>, at offset: Int) throws(Errno) {
        try base.write(bytes, in: range, at: offset)
    }

    func synchroniseData() throws(Errno) { try base.synchroniseData() }
    func size() throws(Errno) -> Int { try base.size() }
    func dataStart(from offset: Int) -> Int? { base.dataStart(from: offset) }
    func tryLock() throws(Errno) -> Bool { try base.tryLock() }
}

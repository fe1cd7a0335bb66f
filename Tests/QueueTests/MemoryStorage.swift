import Bytes
import Posix
import Queue

/// A disk in memory that can fail any call and lose what was not synced.
final class MemoryStorage: Storage {
    final class Node {
        var bytes: [UInt8] = []
        var durable: [UInt8] = []
        var isLocked = false
        /// The pages that take no room.
        var released: Set<Int> = []
        var path: String

        init(_ path: String = "", _ bytes: [UInt8] = []) {
            self.path = path
            self.bytes = bytes
        }
    }

    enum Call: Equatable {
        case open(String)
        case createDirectory(String)
        case names(String)
        case rename(String, String)
        case unlink(String)
        case synchroniseDirectory(String)
        case read(String, Int)
        case write(String, Int)
        case allocate(String, Int)
        case synchronise(String)
        case lock(String)
    }

    let root = "/queue"
    let physicalBlock: Int
    var user: UInt32 = 7
    var owner: UInt32 = 7
    var files: [String: Node] = [:]
    var folders: Set<String> = [""]
    var durableFiles: [String: Node] = [:]
    var durableFolders: Set<String> = [""]
    var available: UInt64 = 1 << 40
    /// Bytes that all files may take; a write beyond them fails with ENOSPC.
    var capacity = 1 << 40
    /// Files that the file system has room for.
    var filesLeft: UInt64 = .max
    /// Called before each call; an errno makes it fail, and is asked whether half of a write is done.
    var fault: ((Call) -> Errno?)?
    var writesHalf = false
    var calls: [Call] = []

    init(physicalBlock: Int = 4_096) { self.physicalBlock = physicalBlock }

    func note(_ call: Call) throws(Errno) {
        calls.append(call)
        if let errno = fault?(call) { throw errno }
    }

    func open(_ path: String, _ mode: StorageMode) throws(Errno) -> any StorageFile {
        try note(.open(path))
        if let node = files[path] {
            if mode == .createNew { throw Errno.exists }
            return MemoryFile(self, node)
        }
        guard mode == .create || mode == .createNew, folders.contains(Self.folder(of: path)) else {
            throw Errno.noEntry
        }
        let node = Node(path)
        files[path] = node
        return MemoryFile(self, node)
    }

    func status(of path: String) throws(Errno) -> StorageStatus {
        if folders.contains(path) { return StorageStatus(kind: .directory, size: 4_096, owner: owner) }
        guard let node = files[path] else { throw Errno.noEntry }
        return StorageStatus(
            kind: .regular, size: node.bytes.count, allocated: node.bytes.count - 4_096 * node.released.count,
            owner: owner)
    }

    func createDirectory(_ path: String) throws(Errno) {
        try note(.createDirectory(path))
        guard folders.insert(path).inserted else { throw Errno.exists }
    }

    func names(in path: String) throws(Errno) -> [String] {
        try note(.names(path))
        guard folders.contains(path) else { throw Errno.noEntry }
        let all = Array(files.keys) + Array(folders.subtracting([""]))
        return all.filter { Self.folder(of: $0) == path }.map {
            path.isEmpty ? $0 : String($0.dropFirst(path.count + 1))
        }
        .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    func rename(_ from: String, to: String) throws(Errno) {
        try note(.rename(from, to))
        guard let node = files.removeValue(forKey: from) else { throw Errno.noEntry }
        files[to] = node
        node.path = to
    }

    func unlink(_ path: String) throws(Errno) {
        try note(.unlink(path))
        guard files.removeValue(forKey: path) != nil else { throw Errno.noEntry }
    }

    func synchroniseDirectory(_ path: String) throws(Errno) {
        try note(.synchroniseDirectory(path))
        keepNames(of: path)
    }

    func space() throws(Errno) -> StorageSpace {
        StorageSpace(
            total: UInt64(capacity), available: min(available, UInt64(max(0, capacity - usedBytes))), files: filesLeft)
    }

    /// Bytes that files take.
    var usedBytes: Int { files.values.reduce(0) { $0 + $1.bytes.count - 4_096 * $1.released.count } }

    private func keepNames(of path: String) {
        durableFiles = durableFiles.filter { Self.folder(of: $0.key) != path }
        for (name, node) in files where Self.folder(of: name) == path { durableFiles[name] = node }
        durableFolders.formUnion(folders.filter { Self.folder(of: $0) == path })
    }

    static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }

    /// The power goes: of what was not synced, each sector stays or goes, and each folder's names are new or old.
    func crash(_ random: inout SplitMix64) {
        for folder in folders.sorted() where Bool.random(using: &random) { keepNames(of: folder) }
        folders = durableFolders
        files = durableFiles.filter { folders.contains(Self.folder(of: $0.key)) }
        for (_, node) in files.sorted(by: { $0.key < $1.key }) {
            node.isLocked = false
            var mixed = node.durable
            if node.bytes.count > mixed.count, Bool.random(using: &random) {
                mixed += [UInt8](repeating: 0, count: node.bytes.count - mixed.count)
            }
            for start in stride(from: 0, to: min(mixed.count, node.bytes.count), by: 512) {
                let sector = start..<min(start + 512, mixed.count, node.bytes.count)
                if node.bytes[sector] != mixed[sector], Bool.random(using: &random) {
                    mixed.replaceSubrange(sector, with: node.bytes[sector])
                }
            }
            node.bytes = mixed
            node.released = node.released.filter { $0 < mixed.count / 4_096 }
            node.durable = mixed
        }
        durableFiles = files
        for (path, node) in files { node.path = path }
        fault = nil
    }
}

final class MemoryFile: StorageFile {
    private let storage: MemoryStorage
    private let node: MemoryStorage.Node
    private var holdsLock = false

    init(_ storage: MemoryStorage, _ node: MemoryStorage.Node) {
        self.storage = storage
        self.node = node
    }

    deinit { if holdsLock { node.isLocked = false } }

    func read(upTo count: Int, at offset: Int, into buffer: inout [UInt8]) throws(Errno) -> Int {
        try storage.note(.read(node.path, offset))
        let range = min(offset, node.bytes.count)..<min(offset + count, node.bytes.count)
        buffer += node.bytes[range]
        return range.count
    }

    func write(_ bytes: borrowing [UInt8], in range: Range<Int>, at offset: Int) throws(Errno) {
        do throws(Errno) {
            try storage.note(.write(node.path, offset))
        } catch {
            if storage.writesHalf {
                put(Array(bytes[range.lowerBound..<range.lowerBound + range.count / 2]), at: offset)
            }
            throw error
        }
        let growth = storage.capacity == 1 << 40 ? 0 : growth(offset..<offset + range.count)
        guard growth == 0 || storage.usedBytes + growth <= storage.capacity else { throw Errno.noSpace }
        put(Array(bytes[range]), at: offset)
    }

    /// What a write takes that the file did not have, bytes.
    private func growth(_ range: Range<Int>) -> Int {
        let pages = Set(range.lowerBound / 4_096...max(range.lowerBound, range.upperBound - 1) / 4_096)
        return max(0, range.upperBound - node.bytes.count) + 4_096 * node.released.intersection(pages).count
    }

    func allocate(_ size: Int) throws(Errno) {
        try storage.note(.allocate(node.path, size))
        let growth = max(0, size - node.bytes.count)
        guard storage.usedBytes + growth <= storage.capacity else { throw Errno.noSpace }
        node.bytes += [UInt8](repeating: 0, count: growth)
    }

    func release(_ range: Range<Int>) throws(Errno) {
        try storage.note(.write(node.path, range.lowerBound))
        node.bytes.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count))
        for page in range.lowerBound / 4_096..<range.upperBound / 4_096 { node.released.insert(page) }
    }

    private func put(_ bytes: [UInt8], at offset: Int) {
        node.released.subtract(offset / 4_096...max(offset, offset + bytes.count - 1) / 4_096)
        if node.bytes.count < offset + bytes.count {
            node.bytes += [UInt8](repeating: 0, count: offset + bytes.count - node.bytes.count)
        }
        node.bytes.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    func synchroniseData() throws(Errno) {
        try storage.note(.synchronise(node.path))
        node.durable = node.bytes
    }

    func size() throws(Errno) -> Int { node.bytes.count }

    func tryLock() throws(Errno) -> Bool {
        try storage.note(.lock(node.path))
        guard !node.isLocked else { return false }
        node.isLocked = true
        holdsLock = true
        return true
    }
}

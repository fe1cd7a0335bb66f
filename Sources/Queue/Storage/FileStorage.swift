internal import Bytes
package import Posix

/// A queue's files in a directory of the file system.
package final class FileStorage: Storage {
    package let root: String
    package let physicalBlock: Int
    package let user: UInt32
    private let didRead: ((Int) -> Void)?

    /// The storage of a directory, which need not exist; `didRead` hears of each read that came back, and its bytes.
    package init(directory: String, didRead: ((Int) -> Void)? = nil) {
        root = directory
        self.didRead = didRead
        user = Process.user
        physicalBlock = Self.physicalBlock(of: directory)
    }

    package func open(_ path: String, _ mode: StorageMode) throws(Errno) -> any StorageFile {
        // Not blocking: a FIFO in a file's place would hold up the thread until somebody opens its other end.
        let options: OpenOptions
        switch mode {
        case .readOnly: options = [.readOnly, .noFollow, .nonBlocking]
        case .readWrite: options = [.readWrite, .noFollow, .nonBlocking]
        case .create: options = [.readWrite, .create, .noFollow, .nonBlocking]
        case .createNew: options = [.readWrite, .create, .exclusive, .noFollow]
        }
        let descriptor = try FileDescriptor.open(full(path), options)
        // On a copy-on-write file system overwriting needs room, which may be gone; only empty files can be so marked.
        if mode == .createNew { descriptor.avoidCopyOnWrite() }
        return OpenFile(descriptor, didRead)
    }

    package func status(of path: String) throws(Errno) -> StorageStatus {
        // A final slash follows a link to the directory itself, which an administrator may have made.
        let status = try FileSystem.status(of: path.isEmpty ? root + "/." : full(path))
        let kind: StorageStatus.Kind =
            switch status.kind {
            case .regular: .regular
            case .directory: .directory
            case .socket, .other: .other
            }
        return StorageStatus(
            kind: kind, size: Int(status.size), allocated: Int(status.allocated), owner: status.owner)
    }

    package func createDirectory(_ path: String) throws(Errno) {
        try FileSystem.makeDirectory(full(path), mode: 0o700)
    }

    package func names(in path: String) throws(Errno) -> [String] { try FileSystem.names(in: full(path)) }

    package func rename(_ from: String, to: String) throws(Errno) {
        try FileSystem.rename(full(from), to: full(to))
    }

    package func unlink(_ path: String) throws(Errno) { try FileSystem.unlink(full(path)) }

    package func synchroniseDirectory(_ path: String) throws(Errno) {
        try FileSystem.synchroniseDirectory(full(path))
    }

    package func space() throws(Errno) -> StorageSpace {
        let space = try FileSystem.space(at: root)
        return StorageSpace(total: space.total, available: space.available, files: space.files)
    }

    private func full(_ path: String) -> String { path.isEmpty ? root : root + "/" + path }

    /// From sysfs, where a partition's attributes stand with its disk (Documentation/ABI/stable/sysfs-block).
    private static func physicalBlock(of directory: String) -> Int {
        guard let status = try? FileSystem.status(of: directory + "/.") else { return Block.unknownDevice }
        let device = "/sys/dev/block/\(status.deviceMajor):\(status.deviceMinor)"
        for place in ["/queue/physical_block_size", "/../queue/physical_block_size"] {
            guard let text = try? FileSystem.contents(of: device + place, limit: 64) else { continue }
            let digits = text.prefix { $0 != UInt8(ascii: "\n") }
            guard let size = Int(Array(digits).text), Block.isPossible(size) else { continue }
            return size
        }
        return Block.unknownDevice
    }
}

/// An open file of the file system.
private final class OpenFile: StorageFile {
    private let descriptor: FileDescriptor
    private let didRead: ((Int) -> Void)?

    init(_ descriptor: consuming FileDescriptor, _ didRead: ((Int) -> Void)?) {
        self.descriptor = descriptor
        self.didRead = didRead
    }

    func read(upTo count: Int, at offset: Int, into buffer: inout [UInt8]) throws(Errno) -> Int {
        let length = try descriptor.read(upTo: count, at: Int64(offset), into: &buffer)
        didRead?(length)
        return length
    }

    func write(_ bytes: borrowing [UInt8], in range: Range<Int>, at offset: Int) throws(Errno) {
        try descriptor.write(bytes, in: range, at: Int64(offset))
    }

    func allocate(_ size: Int) throws(Errno) { try descriptor.allocate(Int64(size)) }

    func release(_ range: Range<Int>) throws(Errno) {
        try descriptor.punchHole(in: Int64(range.lowerBound)..<Int64(range.upperBound))
    }

    func synchroniseData() throws(Errno) { try descriptor.synchroniseData() }

    func size() throws(Errno) -> Int { Int(try descriptor.status().size) }

    func dataStart(from offset: Int) -> Int? {
        do throws(Errno) {
            return try descriptor.dataStart(from: Int64(offset)).map(Int.init)
        } catch {
            return offset
        }
    }

    func tryLock() throws(Errno) -> Bool { try descriptor.tryLock() }
}

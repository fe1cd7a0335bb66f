internal import Posix

/// The file `spare` of a log: its next segment, made ready ahead, so that a commit needs no new blocks.
final class SpareSegment {
    static let name = "spare"
    /// How much is zero-filled at once, bytes.
    private static let slice = 256 * 1_024
    private static let zeros = [UInt8](repeating: 0, count: slice)

    let file: any StorageFile
    /// True where it was a segment before; its bytes are old ones, which no reader takes for the new segment's.
    let isRecycled: Bool
    /// Up to where it is filled, so that writing over it needs no change of the file system's metadata, bytes.
    private(set) var filled: Int
    /// How long it is, bytes; it has room for all of that.
    private(set) var size: Int

    init(_ file: any StorageFile, filled: Int, size: Int, isRecycled: Bool) {
        self.file = file
        self.filled = filled
        self.size = size
        self.isRecycled = isRecycled
    }

    /// Takes room up to `target` without filling it.
    func allocate(to target: Int) throws(Errno) {
        try file.allocate(target)
        size = target
    }

    /// Adds at most a slice of zeros.
    func fill(to target: Int) throws(Errno) {
        guard filled < target else { return }
        filled = try Self.fill(file, from: filled, to: target)
        size = max(size, filled)
    }

    /// Writes at most a slice of zeros; returns up to where.
    static func fill(_ file: any StorageFile, from start: Int, to target: Int) throws(Errno) -> Int {
        let count = min(slice, target - start)
        try file.write(zeros, in: 0..<count, at: start)
        return start + count
    }
}

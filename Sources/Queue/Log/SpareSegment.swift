internal import Posix

/// The file `spare` of a log: its next segment, made ready ahead, so that a commit needs no new blocks.
final class SpareSegment {
    static let name = "spare"
    /// How much is zero-filled at once, bytes.
    static let slice = 256 * 1_024
    private static let zeros = [UInt8](repeating: 0, count: slice)

    let file: any StorageFile
    /// True where it was a segment before; its bytes are old ones, which no reader takes for the new segment's.
    let isRecycled: Bool
    /// Bytes that can be written over.
    private(set) var size: Int

    init(_ file: any StorageFile, size: Int, isRecycled: Bool) {
        self.file = file
        self.size = size
        self.isRecycled = isRecycled
    }

    /// Takes room up to `target` without writing it.
    func allocate(to target: Int) throws(Errno) {
        try file.allocate(target)
        size = target
    }

    /// Adds at most a slice of zeros; returns how many bytes.
    func extend(to target: Int) throws(Errno) -> Int {
        let count = min(Self.slice, target - size)
        guard count > 0 else { return 0 }
        try file.write(Self.zeros, in: 0..<count, at: size)
        size += count
        return count
    }
}

internal import Bytes
internal import Posix

/// A stretch of a segment's file in memory, moved along as it is read.
final class SegmentWindow {
    /// How much is read at once, bytes.
    static let step = 256 * 1_024
    private static let page = 4_096

    /// The file's bytes from `start` on.
    private(set) var bytes: [UInt8] = []
    private(set) var start = 0
    /// Bytes read from files since it was made.
    private(set) var bytesRead = 0
    private var file: (any StorageFile)?
    private var fileEnd = 0
    private var isTolerant = false

    /// Where the bytes in memory end in the file.
    private var loadedEnd: Int { start + bytes.count }

    /// Turns to a file and the bytes of it before `end`; a tolerant window reads zeros where the disk gives an error.
    func attach(_ file: any StorageFile, end: Int, isTolerant: Bool) {
        self.file = file
        fileEnd = end
        self.isTolerant = isTolerant
        start = 0
        bytes.removeAll(keepingCapacity: true)
    }

    /// Lets the file go.
    func detach() {
        file = nil
        start = 0
        bytes.removeAll(keepingCapacity: true)
    }

    /// Has `range` of the file in `bytes`, as far as the file goes, and returns how many bytes of it there are.
    func load(_ range: Range<Int>) throws(Errno) -> Int {
        let wanted = range.clamped(to: 0..<max(0, fileEnd))
        guard wanted.lowerBound == range.lowerBound, !wanted.isEmpty else { return 0 }
        if wanted.lowerBound < start || wanted.upperBound > loadedEnd {
            bytes.removeAll(keepingCapacity: true)
            start = wanted.lowerBound
            try fill(min(max(wanted.count, Self.step), fileEnd - start))
        }
        return min(wanted.upperBound, loadedEnd) - wanted.lowerBound
    }

    /// Where an offset of the file stands in `bytes`.
    func index(of offset: Int) -> Int { offset - start }

    private func fill(_ count: Int) throws(Errno) {
        guard let file else { return }
        do throws(Errno) {
            bytesRead += try file.read(upTo: count, at: start, into: &bytes)
        } catch {
            guard isTolerant else { throw error }
            bytes.removeAll(keepingCapacity: true)
            while bytes.count < count {
                let piece = min(Self.page, count - bytes.count)
                let before = bytes.count
                _ = try? file.read(upTo: piece, at: start + before, into: &bytes)
                bytes.appendZeros(before + piece - bytes.count)
            }
        }
    }
}

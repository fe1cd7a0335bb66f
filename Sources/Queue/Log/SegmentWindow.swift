internal import Bytes
internal import Posix

/// A stretch of a segment's file in memory, moved along as it is read.
final class SegmentWindow {
    /// How much is read at once where nothing else is said, bytes.
    static let usualStep = 256 * 1_024
    private static let page = 4_096

    /// How much is read at once, bytes.
    let step: Int

    /// The file's bytes from `start` on.
    private(set) var bytes: [UInt8] = []
    private(set) var start = 0
    /// Bytes read from files since it was made.
    private(set) var bytesRead = 0
    private var file: (any StorageFile)?
    private var fileEnd = 0
    private var isTolerant = false
    private let passesHoles: Bool

    /// A window that `passesHoles` asks the file system where there is nothing but zeros, instead of reading them.
    init(passesHoles: Bool = false, step: Int = SegmentWindow.usualStep) {
        self.passesHoles = passesHoles
        self.step = step
    }

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
            try fill(min(max(wanted.count, step), fileEnd - start), wanted: wanted.count)
        }
        return min(wanted.upperBound, loadedEnd) - wanted.lowerBound
    }

    /// The first multiple of `unit` at or behind `offset`, or before `end`, at which there may be more than zeros.
    func dataStart(from offset: Int, to end: Int, unit: Int) -> Int {
        guard passesHoles, !(start..<max(start, loadedEnd)).contains(offset), let file else { return offset }
        return max(offset, min(file.dataStart(from: offset) ?? end, end) / unit * unit)
    }

    /// Where an offset of the file stands in `bytes`.
    func index(of offset: Int) -> Int { offset - start }

    /// Reads on to `count` bytes; an error behind the first `wanted` waits until somebody asks for what it hides.
    ///
    /// Before a page that it cannot give, the disk gives less than was asked for (pread(2)); the error comes next.
    private func fill(_ count: Int, wanted: Int) throws(Errno) {
        guard let file else { return }
        while bytes.count < count {
            let offset = start + bytes.count
            let rest = count - bytes.count
            do throws(Errno) {
                guard try read(file, rest, at: offset) > 0 else { return }
            } catch {
                guard isTolerant else {
                    if bytes.count >= wanted { return }
                    throw error
                }
                let page = min(rest, Self.page - offset % Self.page)
                let got = (try? read(file, page, at: offset)) ?? 0
                bytes.appendZeros(page - got)
            }
        }
    }

    private func read(_ file: any StorageFile, _ count: Int, at offset: Int) throws(Errno) -> Int {
        let got = try file.read(upTo: count, at: offset, into: &bytes)
        bytesRead += got
        return got
    }
}

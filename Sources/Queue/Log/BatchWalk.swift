internal import Bytes
internal import Posix

/// A batch that was found in a segment.
struct FoundBatch {
    let header: BatchHeader
    /// Where it begins in the file.
    let offset: Int
    /// False where only the copy in its trailer could be read.
    let headerIsGood: Bool
    /// Where the walk stood before; what lies between there and `offset` belongs to no batch that can be read.
    let skippedFrom: Int

    var end: Int { offset + header.totalSize }
}

/// Finds the batches of a segment in order, over whatever damage lies between them.
///
/// A length counts only from a header or trailer whose checksum is right; without one the walk goes on block by block.
struct BatchWalk {
    let window: SegmentWindow
    let segment: UInt64
    let seal: UInt32
    /// Where the walk ends in the file.
    let end: Int
    /// Where it stands.
    private(set) var offset: Int

    init(_ window: SegmentWindow, segment: UInt64, seal: UInt32, from offset: Int, to end: Int) {
        self.window = window
        self.segment = segment
        self.seal = seal
        self.offset = offset
        self.end = end
    }

    /// The next batch; nil where there is none before the end, to which the walk then has come.
    mutating func next() throws(Errno) -> FoundBatch? {
        let from = offset
        var at = offset
        while at < end {
            guard try window.load(at..<at + Block.least) > 0 else { break }
            let index = window.index(of: at)
            if let header = BatchHeader(window.bytes, at: index, segment: segment, seal: seal) {
                offset = at + header.totalSize
                return FoundBatch(header: header, offset: at, headerIsGood: true, skippedFrom: from)
            }
            let trailer = index + Block.least - BatchHeader.trailerSize
            if let header = BatchHeader(trailer: window.bytes, at: trailer, segment: segment, seal: seal) {
                let start = at + Block.least - header.totalSize
                if start >= from {
                    offset = at + Block.least
                    return FoundBatch(header: header, offset: start, headerIsGood: false, skippedFrom: from)
                }
            }
            at += Block.least
        }
        offset = end
        return nil
    }
}

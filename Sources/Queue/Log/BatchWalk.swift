internal import Bytes
internal import Posix

/// A batch that was found in a segment.
struct FoundBatch {
    let header: BatchHeader
    /// False where only the copy in its trailer could be read.
    let headerIsGood: Bool
    /// Where the walk stood before; what lies between there and `offset` belongs to no batch that can be read.
    let skippedFrom: Int
    /// The number and the first sequence number of the batch that should stand at `skippedFrom`.
    let expected: BatchPlace

    /// Where it begins in the file.
    var offset: Int { header.offset }
    var end: Int { offset + header.totalSize }
}

/// Which batch of a segment it is, and of which events.
struct BatchPlace {
    /// From 0.
    let number: UInt64
    /// Of its first event.
    let sequence: UInt64
}

/// Finds the batches of a segment in order, over whatever damage lies between them.
///
/// A length counts only from a header or trailer whose checksum and place are right and whose numbers can follow those before it
/// within the bytes between; without one the walk goes on block by block.
struct BatchWalk {
    let window: SegmentWindow
    let segment: UInt64
    let seal: UInt32
    /// Where the walk ends in the file.
    let end: Int
    /// Where it stands.
    private(set) var offset: Int
    /// The batch that should stand there.
    private(set) var expected: BatchPlace

    init(
        _ window: SegmentWindow, segment: UInt64, seal: UInt32, from offset: Int, to end: Int, expecting: BatchPlace
    ) {
        self.window = window
        self.segment = segment
        self.seal = seal
        self.offset = offset
        self.end = end
        expected = expecting
    }

    /// The next batch; nil where there is none before the end, to which the walk then has come.
    mutating func next() throws(Errno) -> FoundBatch? {
        var at = offset
        while at < end {
            guard try window.load(at..<at + Block.least) > 0 else { break }
            let index = window.index(of: at)
            if let header = BatchHeader(window.bytes, at: index, segment: segment, seal: seal),
                header.offset == at, canFollow(header)
            {
                return take(header, headerIsGood: true)
            }
            let trailer = index + Block.least - BatchHeader.trailerSize
            if let header = BatchHeader(trailer: window.bytes, at: trailer, segment: segment, seal: seal),
                header.offset + header.totalSize == at + Block.least, header.offset >= offset, canFollow(header)
            {
                return take(header, headerIsGood: false)
            }
            at += Block.least
        }
        offset = end
        return nil
    }

    /// True where the batches between this one and the place of the walk fit the bytes between.
    private func canFollow(_ header: BatchHeader) -> Bool {
        guard header.number >= expected.number, header.first >= expected.sequence else { return false }
        let missing = header.number - expected.number
        return missing <= UInt64((header.offset - offset) / Block.least)
            && header.first - expected.sequence <= missing * UInt64(OpenBatch.maximumEvents)
    }

    private mutating func take(_ header: BatchHeader, headerIsGood: Bool) -> FoundBatch {
        defer {
            offset = header.offset + header.totalSize
            expected = BatchPlace(number: header.number + 1, sequence: header.last + 1)
        }
        return FoundBatch(header: header, headerIsGood: headerIsGood, skippedFrom: offset, expected: expected)
    }
}

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
/// A length counts only from a header or trailer whose checksum and place are right and whose numbers can follow those
/// before it within the bytes between; without one the walk goes on block by block.
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
    /// True where any batch may stand there.
    private var expectsAny = false

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

    /// A walk to `end` that begins at a batch not behind `sequence`, found by halving `range`; nil where none is found.
    ///
    /// Reads a few pieces, not all that lies before. What it takes for the place may be wrong where the range is
    /// damaged.
    init?(
        searching window: SegmentWindow, segment: UInt64, seal: UInt32, for sequence: UInt64, in range: Range<Int>,
        to end: Int
    ) throws(Errno) {
        var (low, high) = (range.lowerBound, range.upperBound)
        var start: FoundBatch?
        while high - low > window.step {
            let middle = low + (high - low) / 2 / Block.least * Block.least
            var probe = BatchWalk(
                window, segment: segment, seal: seal, from: middle, to: min(high, middle + BatchHeader.maximumSize),
                expecting: BatchPlace(number: 0, sequence: 0))
            probe.expectsAny = true
            guard let found = try probe.next(), found.header.first <= sequence else {
                high = middle
                continue
            }
            (start, low) = (found, found.end)
            if found.header.last >= sequence { break }
        }
        guard let start else { return nil }
        self.init(
            window, segment: segment, seal: seal, from: start.offset, to: end,
            expecting: BatchPlace(number: start.header.number, sequence: start.header.first))
    }

    /// The next batch; nil where there is none before the end, to which the walk then has come.
    mutating func next() throws(Errno) -> FoundBatch? {
        var at = offset
        while at < end {
            at = window.dataStart(from: at, to: end, unit: Block.least)
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
        if expectsAny { return true }
        guard header.number >= expected.number, header.first >= expected.sequence else { return false }
        let missing = header.number - expected.number
        return missing <= UInt64((header.offset - offset) / Block.least)
            && header.first - expected.sequence <= missing * UInt64(OpenBatch.maximumEvents)
    }

    private mutating func take(_ header: BatchHeader, headerIsGood: Bool) -> FoundBatch {
        defer {
            offset = header.offset + header.totalSize
            expected = BatchPlace(number: header.number + 1, sequence: header.last + 1)
            expectsAny = false
        }
        return FoundBatch(header: header, headerIsGood: headerIsGood, skippedFrom: offset, expected: expected)
    }
}

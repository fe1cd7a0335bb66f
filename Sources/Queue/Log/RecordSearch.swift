internal import Bytes
internal import Posix

/// Finds records whose batch has neither a header nor a trailer that can be read.
///
/// A record begins at a multiple of 8 bytes and says its length and sequence number itself; its checksum begins from
/// segment, batch and epoch, of which the neighbours leave only few.
struct RecordSearch {
    /// How many batches in a row may have no whole record.
    private static let mostNumbers: UInt64 = 256
    /// What may be read for records that turn out to be none, at least, bytes.
    private static let leastPatience = 64 << 20

    let window: SegmentWindow
    let segment: UInt64
    /// Where it ends in the file.
    let end: Int
    /// The last event that is looked for.
    let last: UInt64
    /// True where nothing says that there is any event.
    let mayBeNone: Bool
    /// The epochs that the records may have.
    let epochs: [UInt64]
    /// Of the newest record found.
    private(set) var epoch: UInt64
    /// The sequence number of the next record, and where it is looked for.
    private(set) var sequence: UInt64
    private(set) var offset: Int
    /// The batches that the next record may be of, that of the newest record found first.
    private(set) var numbers: Range<UInt64>
    private var patience: Int

    /// Looks in `range` of the file, from the batch `expected` on, for events up to `last`, in batches before number
    /// `next`.
    init(
        _ window: SegmentWindow, segment: UInt64, in range: Range<Int>, expecting: BatchPlace, before next: UInt64,
        through last: UInt64, epochs: [UInt64], mayBeNone: Bool = false
    ) {
        self.window = window
        self.segment = segment
        offset = range.lowerBound
        end = range.upperBound
        sequence = expecting.sequence
        numbers = expecting.number..<max(expecting.number, next)
        self.last = last
        self.epochs = epochs
        epoch = epochs.first ?? 0
        self.mayBeNone = mayBeNone
        patience = max(Self.leastPatience, 4 * range.count)
    }

    /// Looks for what may stand behind the last batch of a segment, which nothing says is there.
    init(
        _ window: SegmentWindow, segment: UInt64, behind offset: Int, size: Int, expecting: BatchPlace, epochs: [UInt64]
    ) {
        let end = max(offset, min(size, offset + OpenBatch.maximumBytes))
        self.init(
            window, segment: segment, in: offset..<end, expecting: expecting, before: .max,
            through: expecting.sequence + UInt64(OpenBatch.maximumEvents), epochs: epochs, mayBeNone: true)
    }

    /// The next record, or the events before it that are not there; nil behind the last.
    mutating func next() throws(Errno) -> RecordWalk.Step? {
        guard sequence <= last else { return nil }
        let from = offset
        let first = sequence
        guard let found = try find() else {
            offset = end
            sequence = last + 1
            return mayBeNone ? nil : .damaged(first...last, bytes: from..<end)
        }
        offset = found.offset
        guard found.sequence == first else {
            sequence = found.sequence
            return .damaged(first...found.sequence - 1, bytes: from..<offset)
        }
        let index = window.index(of: offset)
        let isHole = RecordLayout.isHole(window.bytes, at: index)
        let step: RecordWalk.Step =
            isHole ? .hole(sequence: first) : .record(sequence: first, index: index, length: found.length)
        sequence += 1
        offset += RecordLayout.size(ofEvent: found.length)
        return step
    }

    private mutating func find() throws(Errno) -> (offset: Int, sequence: UInt64, length: Int)? {
        let header = RecordLayout.headerSize
        var at = window.dataStart(from: offset, to: end, unit: 8)
        while at + header <= end, patience > 0, try window.load(at..<at + header) == header {
            let index = window.index(of: at)
            let rest = index..<min(index + Block.least, window.bytes.count, index + end - at)
            if window.bytes.isZero(in: rest), rest.count > header {
                at = window.dataStart(from: at + (rest.count - header) / 8 * 8 + 8, to: end, unit: 8)
                continue
            }
            let length = Int(window.bytes.loadLittleEndian(at: index + 4, as: UInt32.self))
            let number = window.bytes.loadLittleEndian(at: index + 8, as: UInt64.self)
            if (sequence...last).contains(number), at + header + length <= end,
                try window.load(at..<at + header + length) == header + length, isWhole(at, header + length)
            {
                return (at, number, length)
            }
            at += 8
        }
        return nil
    }

    /// True where the record of `size` bytes at `at` has the checksum that one of the batches would give it.
    private mutating func isWhole(_ at: Int, _ size: Int) -> Bool {
        let index = window.index(of: at)
        let crc = window.bytes.loadLittleEndian(at: index, as: UInt32.self)
        for number in numbers.lowerBound..<min(numbers.upperBound, numbers.lowerBound + Self.mostNumbers) {
            for epoch in epochs {
                patience -= size
                let seed = RecordLayout.seed(segment: segment, number: number, epoch: epoch)
                guard CRC32C.of(window.bytes, in: index + 4..<index + size, seed: seed) == crc else { continue }
                self.epoch = epoch
                numbers = number..<numbers.upperBound
                return true
            }
        }
        return false
    }
}

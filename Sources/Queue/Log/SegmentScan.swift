internal import Bytes
internal import Posix
internal import Time

/// What a whole segment holds, read from its first block to its last.
struct SegmentScan {
    /// The last event that counts as accepted; one less than the segment's first where there is none.
    private(set) var last: UInt64
    /// Where the last batch ends, bytes.
    private(set) var validEnd = 0
    private(set) var damages: [RecoveryReport.Damage] = []
    /// Batches of which something can be read.
    private(set) var batches = 0
    /// The sequence numbers of the events that can be read.
    private(set) var events = RangeSet<UInt64>()
    /// Those of events that were purged.
    private(set) var holes = RangeSet<UInt64>()
    /// Events read from batches that were not whole.
    private(set) var salvaged = 0
    private(set) var keyed: [RecoveryReport.Keyed] = []
    /// Of the newest batch that has one, or else of the segment.
    private(set) var age: UInt64 = 0

    private let log: LogName
    private let segment: SegmentName
    private let window: SegmentWindow
    private let seal: UInt32
    /// The epochs of the segment's header and of the newest batch.
    private var epochs: [UInt64] = []
    /// Where the newest sync's batches begin and where those of the sync before it do, as far as they are in it.
    private(set) var newestSync: Place?
    private(set) var syncBefore: Place?
    /// True where the sync before committed something again, so that it was confirmed before anything was written
    /// behind it.
    private(set) var isSyncBeforeConfirmed = false
    /// True where the newest sync committed something again.
    private var newestIsAgain = false
    /// True where every batch of it stands in an earlier segment, too, and there is one.
    private(set) var isCopy = false

    /// Where a batch begins, and which it is.
    struct Place {
        let offset: Int
        let batch: BatchPlace
        let durable: UInt64
    }

    /// A batch that was read, until it is known whether another follows.
    private struct Pending {
        let found: FoundBatch
        /// Its header and its trailer can both be read.
        let hasBothEnds: Bool
        /// Both stand there, though bytes of one may have changed: it was written to its end.
        let isComplete: Bool
        /// Both copies of its context and its table can be read.
        let isIntact: Bool
        let lastGood: UInt64
        let bad: [(sequences: ClosedRange<UInt64>, bytes: Range<Int>)]
    }

    /// Reads `window`, which stands on the segment's file of `size` bytes.
    init(
        _ window: SegmentWindow, log: LogName, segment: SegmentName, seal: UInt32, size: Int
    ) throws(Errno) {
        self.log = log
        self.segment = segment
        self.window = window
        self.seal = seal
        last = segment.first - 1
        let header = try Self.header(window, segment: segment.id)
        if header == nil, size > 0 { note(.repaired, 0..<min(size, SegmentHeader.size), nil) }
        let start = header?.block ?? Block.least
        epochs = header.map { [$0.epoch] } ?? []
        age = header?.age ?? 0
        validEnd = start
        var walk = BatchWalk(
            window, segment: segment.id, seal: seal, from: start, to: size,
            expecting: BatchPlace(number: 0, sequence: segment.first))
        var pending: Pending?
        while let found = try walk.next() {
            if let earlier = pending { try conclude(earlier, isLast: false) }
            try noteGap(before: found)
            pending = try read(found)
            noteSync(of: found)
        }
        if let pending { try conclude(pending, isLast: true) }
        let lastBatch = validEnd
        try searchTail(behind: walk.expected, size: size)
        if let header, !header.isRecycled { try noteTail(from: lastBatch, size: size) }
        if let header, header.length > size { note(.missingTail, size..<header.length, nil) }
    }

    /// The segment's header, read from its first block; nil where it is damaged or another's.
    static func header(_ window: SegmentWindow, segment: UInt64) throws(Errno) -> SegmentHeader? {
        guard try window.load(0..<SegmentHeader.size) == SegmentHeader.size, window.index(of: 0) == 0,
            let header = SegmentHeader(window.bytes), header.segment == segment
        else { return nil }
        return header
    }

    private mutating func note(
        _ kind: RecoveryReport.Damage.Kind, _ bytes: Range<Int>, _ sequences: ClosedRange<UInt64>?
    ) {
        damages.append(
            RecoveryReport.Damage(
                kind: kind, log: log, segment: segment.id, offset: bytes.lowerBound, length: bytes.count,
                sequences: sequences))
    }

    private mutating func noteSync(of found: FoundBatch) {
        let header = found.header
        let isAgain = header.flags & BatchHeader.committedAgain != 0
        isCopy = (newestSync == nil || isCopy) && isAgain
        if newestSync?.durable != header.durable {
            (syncBefore, isSyncBeforeConfirmed) = (newestSync, newestIsAgain)
            newestSync = Place(
                offset: found.offset, batch: BatchPlace(number: header.number, sequence: header.first),
                durable: header.durable)
            newestIsAgain = false
        }
        newestIsAgain = newestIsAgain || isAgain
        validEnd = found.end
        epochs = epochs.prefix(1) + [header.epoch]
        if header.age != BatchHeader.unknownAge { age = header.age }
    }

    /// Names what lies between the previous batch and this one, but for the records in it that can be read.
    private mutating func noteGap(before found: FoundBatch) throws(Errno) {
        let bytes = found.skippedFrom..<found.offset
        let isZero = try lastByte(in: bytes) == nil
        guard found.header.first > found.expected.sequence else {
            if !isZero { note(.repaired, bytes, nil) }
            return
        }
        let wasAcknowledged = found.header.durable > found.expected.number
        var search = RecordSearch(
            window, segment: segment.id, in: bytes, expecting: found.expected, before: found.header.number,
            through: found.header.first - 1, epochs: epochs + [found.header.epoch])
        let before = (salvaged: salvaged, damages: damages.count)
        while let step = try search.next() {
            switch step {
            case .record(let sequence, let index, _):
                salvaged += 1
                events.insert(contentsOf: sequence..<sequence + 1)
                noteKey(at: index, EventID(epoch: search.epoch, sequence: sequence))
            case .hole(let sequence):
                salvaged += 1
                holes.insert(contentsOf: sequence..<sequence + 1)
            case .damaged(let sequences, let bytes):
                let kind: RecoveryReport.Damage.Kind = try lastByte(in: bytes) == nil ? .lostWrite : .corrupted
                note(wasAcknowledged || salvaged > before.salvaged ? kind : .tornTail, bytes, sequences)
            }
        }
        if damages.count == before.damages { note(.repaired, bytes, nil) }
    }

    /// Finds records of batches behind the last one; what is missing before one that is found counts as damaged.
    private mutating func searchTail(behind expected: BatchPlace, size: Int) throws(Errno) {
        var search = RecordSearch(
            window, segment: segment.id, behind: validEnd, size: size, expecting: expected, epochs: epochs)
        while let step = try search.next() {
            switch step {
            case .record(let sequence, let index, _):
                salvaged += 1
                events.insert(contentsOf: sequence..<sequence + 1)
                noteKey(at: index, EventID(epoch: search.epoch, sequence: sequence))
                last = max(last, sequence)
                validEnd = search.offset
            case .hole(let sequence):
                holes.insert(contentsOf: sequence..<sequence + 1)
                last = max(last, sequence)
                validEnd = search.offset
            case .damaged(let sequences, let bytes): note(.corrupted, bytes, sequences)
            }
        }
    }

    private mutating func noteKey(at index: Int, _ id: EventID) {
        let key = DuplicateKey(
            low: window.bytes.loadLittleEndian(at: index + 32, as: UInt64.self),
            high: window.bytes.loadLittleEndian(at: index + 40, as: UInt64.self))
        if key != .none { keyed.append(RecoveryReport.Keyed(log: log, key: key, id: id)) }
    }

    /// Reads all records of a batch.
    private mutating func read(_ found: FoundBatch) throws(Errno) -> Pending {
        let header = found.header
        var lastGood = header.first - 1
        var bad: [(sequences: ClosedRange<UInt64>, bytes: Range<Int>)] = []
        var records = RecordWalk(window, header, at: found.offset)
        while let step = try records.next() {
            switch step {
            case .record(let sequence, let index, _):
                lastGood = sequence
                noteKey(at: index, EventID(epoch: header.epoch, sequence: sequence))
            case .hole(let sequence):
                lastGood = sequence
                holes.insert(contentsOf: sequence..<sequence + 1)
            case .damaged(let sequences, let bytes):
                bad.append((sequences, bytes))
            }
        }
        let trailer = found.end - BatchHeader.trailerSize
        let hasTrailer =
            try window.load(trailer..<found.end) == BatchHeader.trailerSize
            && BatchHeader(trailer: window.bytes, at: window.index(of: trailer), segment: segment.id, seal: seal)
                == header
        let otherEnd = found.headerIsGood ? trailer + BatchHeader.trailerHeader : found.offset
        let hasBothEnds = found.headerIsGood && hasTrailer
        let isComplete: Bool
        if hasBothEnds { isComplete = true } else { isComplete = try resembles(header, at: otherEnd) }
        let tableIsGood = try records.tableIsGood()
        return Pending(
            found: found, hasBothEnds: hasBothEnds, isComplete: isComplete,
            isIntact: try window.hasBothContexts(of: header, at: found.offset) && tableIsGood, lastGood: lastGood,
            bad: bad)
    }

    /// True where a header stands of which few bytes have changed, as no write that was cut off leaves it.
    private func resembles(_ header: BatchHeader, at offset: Int) throws(Errno) -> Bool {
        guard try window.load(offset..<offset + BatchHeader.size) == BatchHeader.size else { return false }
        return header.isRecognisable(in: window.bytes, at: window.index(of: offset), seal: seal)
    }

    /// Counts and names what a batch has lost; the end of the last batch counts only where it was written to its end.
    private mutating func conclude(_ batch: Pending, isLast: Bool) throws(Errno) {
        let header = batch.found.header
        let isTorn = isLast && !batch.isComplete
        let end = isTorn ? batch.lastGood : header.last
        batches += 1
        events.insert(contentsOf: header.first..<header.last + 1)
        for (sequences, bytes) in batch.bad {
            events.remove(contentsOf: sequences.lowerBound..<sequences.upperBound + 1)
            if sequences.lowerBound > end {
                note(.tornTail, bytes, sequences)
            } else {
                note(try lastByte(in: bytes) == nil ? .lostWrite : .corrupted, bytes, sequences)
            }
        }
        if batch.bad.isEmpty, !isTorn, !(batch.hasBothEnds && batch.isIntact) {
            note(.repaired, batch.found.offset..<batch.found.end, nil)
        }
        if !batch.hasBothEnds || !batch.bad.isEmpty {
            salvaged += header.count - batch.bad.reduce(0) { $0 + $1.sequences.count }
        }
        events.subtract(holes)
        last = max(last, end)
    }

    /// Names what a batch that was being written has left behind the last one; no batch is longer than is looked at.
    private mutating func noteTail(from start: Int, size: Int) throws(Errno) {
        let tail = start..<max(start, min(size, start + OpenBatch.maximumBytes))
        guard let end = try lastByte(in: tail) else { return }
        note(.tornTail, start..<end + 1, nil)
    }

    /// Where the last byte stands that is not zero.
    private func lastByte(in range: Range<Int>) throws(Errno) -> Int? {
        var last: Int?
        var at = range.lowerBound
        while at < range.upperBound {
            at = window.dataStart(from: at, to: range.upperBound, unit: 1)
            let piece = at..<min(range.upperBound, at + window.step)
            let count = try window.load(piece)
            guard count > 0 else { break }
            let start = window.index(of: at)
            if !window.bytes.isZero(in: start..<start + count),
                let found = window.bytes[start..<start + count].lastIndex(where: { $0 != 0 })
            {
                last = at + found - start
            }
            at += count
        }
        return last
    }
}

internal import Bytes
internal import Gates
internal import Posix

/// The last events of a segment as batches to be committed again, with the epoch and the times that they have.
struct SegmentTail {
    /// Without a gap up to the last event; empty where that one cannot be read.
    private(set) var batches: [OpenBatch] = []
    private let log: LogName
    /// The last event so far, and whose batch `batches.last` is.
    private var last: UInt64?
    private var isNewBatch = true

    /// The sequence number of its first event; nil where it is empty.
    var first: UInt64? { last.map { $0 + 1 - UInt64(batches.reduce(0) { $0 + $1.count }) } }

    /// Reads the batches from `place` on, of the segment that `window` stands on, and what is found behind them, up to
    /// event `last`.
    init(
        _ window: SegmentWindow, log: LogName, segment: UInt64, seal: UInt32, from place: SegmentScan.Place, size: Int,
        through last: UInt64
    ) throws(Errno) {
        self.log = log
        var walk = BatchWalk(window, segment: segment, seal: seal, from: place.offset, to: size, expecting: place.batch)
        var newest: BatchHeader?
        var end = place.offset
        while let found = try walk.next() {
            let header = found.header
            (newest, end) = (header, found.end)
            let encoded = try window.context(of: header, at: found.offset)
            let context = encoded.flatMap { AcceptContext(decoding: $0) } ?? .unknown
            var records = RecordWalk(window, header, at: found.offset)
            isNewBatch = true
            while let step = try records.next() { take(step, header, header.epoch, context, window.bytes, last) }
        }
        if let newest, walk.expected.sequence <= last {
            var search = RecordSearch(
                window, segment: segment, behind: end, size: size, expecting: walk.expected, epochs: [newest.epoch])
            isNewBatch = true
            var unknown = newest
            unknown.age = BatchHeader.unknownAge
            while let step = try search.next() { take(step, unknown, search.epoch, .unknown, window.bytes, last) }
        }
        if self.last != last { (batches, self.last) = ([], nil) }
    }

    private mutating func take(
        _ step: RecordWalk.Step, _ header: BatchHeader, _ epoch: UInt64, _ context: AcceptContext,
        _ bytes: borrowing [UInt8], _ end: UInt64
    ) {
        let sequence: UInt64
        switch step {
        case .record(let found, _, _): sequence = found
        case .hole(let found): sequence = found
        case .damaged: return
        }
        guard sequence <= end else { return }
        if sequence != (last ?? 0) + 1 { batches.removeAll() }
        if isNewBatch || batches.isEmpty || !batches[batches.count - 1].append(step, bytes) {
            var batch = OpenBatch(log: log, context: context)
            batch.origin = OpenBatch.Origin(epoch: epoch, wall: header.wall, age: header.age)
            _ = batch.append(step, bytes)
            batches.append(batch)
        }
        isNewBatch = false
        last = sequence
    }
}

extension OpenBatch {
    /// Adds a record of another batch, or a hole in its place; false where it has no room.
    fileprivate mutating func append(_ step: RecordWalk.Step, _ bytes: borrowing [UInt8]) -> Bool {
        switch step {
        case .record(_, let index, let length): return append(record: bytes, at: index, length: length)
        case .hole: return append(record: RecordLayout.emptyHole, at: 0, length: 0)
        case .damaged: return true
        }
    }
}

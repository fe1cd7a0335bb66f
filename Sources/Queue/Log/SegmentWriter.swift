internal import Bytes
internal import Gates
internal import Posix
internal import Time

/// Appends batches to the segment that a log is writing.
final class SegmentWriter {
    /// Records up to so many bytes are copied beside header and trailer and written with one call.
    private static let smallRecords = 64 * 1_024

    let id: UInt64
    /// True where it was a segment before, whose bytes stand behind the newest batch; elsewhere zeros do.
    let isRecycled: Bool
    /// Up to where it has room; nothing is written behind it.
    private(set) var size: Int
    /// Up to where it is filled, with zeros or the bytes that it had before.
    private(set) var filled: Int
    /// Where the next batch begins.
    private(set) var offset: Int

    private let file: any StorageFile
    private let block: Int
    private let epoch: UInt64
    private let seal: UInt32
    private var number: UInt64 = 0
    /// The sequence number that the next batch begins with.
    private var next: UInt64
    private var durable: UInt64 = 0
    private var head: [UInt8] = []
    /// The end of the newest batch.
    private var tail: [UInt8] = []

    init(_ file: any StorageFile, header: SegmentHeader, filled: Int) {
        self.file = file
        self.filled = filled
        size = header.length
        id = header.segment
        isRecycled = header.isRecycled
        block = header.block
        offset = header.block
        epoch = header.epoch
        next = header.first
        seal = header.identity.seal
    }

    /// What a batch takes on disk, bytes.
    static func size(of batch: borrowing OpenBatch, block: Int) -> Int {
        BatchHeader.size(
            context: batch.context.encoded.count, events: batch.count, records: batch.records.count, block: block)
    }

    /// Gives back the room behind the newest batch's last page; a power cut may bring it back.
    func giveUpReadyRoom() throws(Errno) {
        let end = roundedUp(offset, to: 4_096)
        guard end < size else { return }
        try file.release(end..<size)
        (size, filled) = (end, min(filled, end))
    }

    /// Fills up to `end` at least, or a `step` further than it is, and makes the zeros durable.
    ///
    /// What is written into room that is only taken may be lost when the file system ends, though its sync succeeded:
    /// the data are there and the extent's new state is not. Not so in what was filled before.
    func fill(to end: Int, step: Int) throws(Errno) {
        guard end > filled else { return }
        let target = min(size, max(end, filled + step))
        while filled < target { filled = try SpareSegment.fill(file, from: filled, to: target) }
        try file.synchroniseData()
    }

    /// Writes a batch behind the others; it is durable after the next `synchronise`.
    func write(
        _ batch: inout OpenBatch, first: UInt64, again: Bool, at wall: WallTime, age: UInt64
    ) throws(Errno) {
        precondition(first == next, "a batch does not follow the one before it")
        let context = batch.context.encoded
        let contextSize = roundedUp(context.count, to: 8)
        head.removeAll(keepingCapacity: true)
        head.appendZeros(BatchHeader.size)
        head += context
        head.appendZeros(contextSize - context.count)
        let table = head.count
        let epoch = batch.origin?.epoch ?? epoch
        batch.seal(
            first: first, seed: RecordLayout.seed(segment: id, number: number, epoch: epoch), table: &head)
        let header = BatchHeader(
            segment: id, epoch: epoch, number: number, first: first, count: batch.count,
            recordBytes: batch.records.count, totalSize: Self.size(of: batch, block: block),
            contextLength: context.count,
            flags: again ? BatchHeader.committedAgain : 0, contextCRC: CRC32C.of(context.span),
            tableCRC: CRC32C.of(head, in: table..<head.count), wall: batch.origin?.wall ?? wall,
            age: batch.origin?.age ?? age, durable: durable, offset: offset)
        precondition(offset + header.totalSize <= filled, "a batch does not fit its segment")
        let tailStart = header.recordsOffset + header.recordBytes
        tail.removeAll(keepingCapacity: true)
        tail.appendZeros(header.contextCopyOffset - tailStart)
        tail += context
        tail.appendZeros(contextSize - context.count)
        header.encode(over: &head, onto: &tail, seal: seal)
        assert(BatchHeader(head, at: 0, segment: id, seal: seal) == header, "no reader takes what is written")
        try put(batch.records, tailStart: tailStart)
        offset += header.totalSize
        number += 1
        next = header.last + 1
    }

    private func put(_ records: borrowing [UInt8], tailStart: Int) throws(Errno) {
        if records.count <= Self.smallRecords {
            head.append(records, 0..<records.count)
            head += tail
            try file.write(head, in: 0..<head.count, at: offset)
        } else {
            try file.write(head, in: 0..<head.count, at: offset)
            try file.write(records, in: 0..<records.count, at: offset + head.count)
            try file.write(tail, in: 0..<tail.count, at: offset + tailStart)
        }
    }

    /// Makes all that was written durable.
    func synchronise() throws(Errno) {
        try file.synchroniseData()
        durable = number
    }

    /// Writes the end of what was synchronised once more and synchronises again.
    ///
    /// A file system may report with one sync what it lost of the sync before (ext4 with `data=journal`, Rebello 2020).
    func confirm() throws(Errno) {
        try file.write(tail, in: 0..<tail.count, at: offset - tail.count)
        try synchronise()
    }
}

internal import Bytes
internal import Posix

/// Reads the records of one batch in order, over damaged ones.
///
/// Each record's own header says how long it is; where its checksum is wrong, the batch's length table says where the
/// next one stands, and where that is damaged too, the next whole record is searched for.
struct RecordWalk {
    let window: SegmentWindow
    let batch: BatchHeader
    /// Where the batch begins in the file.
    let batchOffset: Int
    /// The sequence number of the next record, and where it stands in the file.
    private(set) var sequence: UInt64
    private(set) var offset: Int
    private var table: LengthTable = .unread

    private enum LengthTable {
        case unread
        case damaged
        case good([UInt64])
    }

    /// What the next record is.
    enum Step {
        /// A whole record: where it begins in the window, and the length of its event in bytes.
        case record(sequence: UInt64, index: Int, length: Int)
        /// An event that was purged; its bytes are gone, so that it matters to nobody whether the rest is whole.
        case hole(sequence: UInt64)
        /// Events that cannot be read, and where their bytes stand in the file.
        case damaged(ClosedRange<UInt64>, bytes: Range<Int>)
    }

    init(_ window: SegmentWindow, _ batch: BatchHeader, at batchOffset: Int) {
        self.window = window
        self.batch = batch
        self.batchOffset = batchOffset
        sequence = batch.first
        offset = batchOffset + batch.recordsOffset
    }

    private var recordsEnd: Int { batchOffset + batch.recordsOffset + batch.recordBytes }

    /// The next record, where all of it stands in `bytes`, which are the file's from `start` on, and it is whole and no
    /// hole.
    ///
    /// Nil anywhere else: `next` says what comes then.
    mutating func next(
        in bytes: borrowing [UInt8], from start: Int
    ) -> (sequence: UInt64, index: Int, length: Int)? {
        let index = offset - start
        guard sequence <= batch.last, index >= 0,
            let length = Self.length(
                ofRecordAt: index, in: bytes, before: min(bytes.count, recordsEnd - start), sequence,
                seed: batch.recordSeed),
            !RecordLayout.isHole(bytes, at: index)
        else { return nil }
        defer {
            sequence += 1
            offset += RecordLayout.size(ofEvent: length)
        }
        return (sequence, index, length)
    }

    /// The length of the event whose record begins at `index`; nil unless the record is whole, ends before `end` and
    /// has that number.
    private static func length(
        ofRecordAt index: Int, in bytes: borrowing [UInt8], before end: Int, _ sequence: UInt64, seed: UInt32
    ) -> Int? {
        guard index + RecordLayout.headerSize <= end else { return nil }
        let length = Int(bytes.loadLittleEndian(at: index + 4, as: UInt32.self))
        let size = RecordLayout.headerSize + length
        guard index + size <= end, bytes.loadLittleEndian(at: index + 8, as: UInt64.self) == sequence,
            bytes.loadLittleEndian(at: index, as: UInt32.self)
                == CRC32C.of(bytes, in: index + 4..<index + size, seed: seed)
        else { return nil }
        return length
    }

    /// The next record or damage; nil behind the last.
    mutating func next() throws(Errno) -> Step? {
        guard sequence <= batch.last else { return nil }
        if let length = try wholeRecord(at: offset, sequence) {
            let index = window.index(of: offset)
            let isHole = RecordLayout.isHole(window.bytes, at: index)
            defer {
                sequence += 1
                offset += RecordLayout.size(ofEvent: length)
            }
            return isHole ? .hole(sequence: sequence) : .record(sequence: sequence, index: index, length: length)
        }
        let from = offset
        let first = sequence
        if case .good(let entries) = try lengthTable() {
            let entry = entries[Int(sequence - batch.first)]
            let length = Int(UInt32(truncatingIfNeeded: entry))
            offset = min(recordsEnd, offset + RecordLayout.size(ofEvent: length))
            sequence += 1
            if UInt32(entry >> 32) & RecordLayout.hole != 0 { return .hole(sequence: first) }
        } else {
            try search()
        }
        return .damaged(first...sequence - 1, bytes: from..<offset)
    }

    /// Goes to the next whole record behind the current place, or to the end of the batch.
    private mutating func search() throws(Errno) {
        var at = offset + 8
        while at + RecordLayout.headerSize <= recordsEnd {
            guard try window.load(at..<at + RecordLayout.headerSize) == RecordLayout.headerSize else { break }
            let number = window.bytes.loadLittleEndian(at: window.index(of: at) + 8, as: UInt64.self)
            if number > sequence, number <= batch.last, try wholeRecord(at: at, number) != nil {
                sequence = number
                offset = at
                return
            }
            at += 8
        }
        sequence = batch.last + 1
        offset = recordsEnd
    }

    /// The length of the event at `offset` of the file, where the record is whole and has that number.
    private func wholeRecord(at offset: Int, _ sequence: UInt64) throws(Errno) -> Int? {
        let header = RecordLayout.headerSize
        guard offset + header <= recordsEnd, try window.load(offset..<offset + header) == header else { return nil }
        let length = Int(window.bytes.loadLittleEndian(at: window.index(of: offset) + 4, as: UInt32.self))
        let size = header + length
        guard offset + size <= recordsEnd, try window.load(offset..<offset + size) == size else { return nil }
        let index = window.index(of: offset)
        return Self.length(
            ofRecordAt: index, in: window.bytes, before: index + size, sequence, seed: batch.recordSeed)
    }

    /// True where the batch's length table can be read.
    mutating func tableIsGood() throws(Errno) -> Bool {
        if case .good = try lengthTable() { return true }
        return false
    }

    private mutating func lengthTable() throws(Errno) -> LengthTable {
        if case .unread = table {
            table = batch.count == 0 ? .good([]) : .damaged
            let from = batchOffset + batch.tableOffset
            let size = BatchHeader.tableEntrySize * batch.count
            if size > 0, try window.load(from..<from + size) == size {
                let index = window.index(of: from)
                if CRC32C.of(window.bytes, in: index..<index + size) == batch.tableCRC {
                    table = .good(
                        (0..<batch.count).map {
                            window.bytes.loadLittleEndian(
                                at: index + BatchHeader.tableEntrySize * $0, as: UInt64.self)
                        })
                }
            }
        }
        return table
    }
}

extension SegmentWindow {
    /// The bytes of a batch's accept context, from whichever copy is whole; nil where neither is.
    func context(of batch: BatchHeader, at batchOffset: Int) throws(Errno) -> [UInt8]? {
        for place in [BatchHeader.size, batch.contextCopyOffset] where batch.contextLength > 0 {
            if let bytes = try context(of: batch, in: batchOffset + place) { return bytes }
        }
        return nil
    }

    /// True where both copies of a batch's accept context are whole.
    func hasBothContexts(of batch: BatchHeader, at batchOffset: Int) throws(Errno) -> Bool {
        for place in [BatchHeader.size, batch.contextCopyOffset] where batch.contextLength > 0 {
            if try context(of: batch, in: batchOffset + place) == nil { return false }
        }
        return true
    }

    private func context(of batch: BatchHeader, in place: Int) throws(Errno) -> [UInt8]? {
        let range = place..<place + batch.contextLength
        guard try load(range) == range.count else { return nil }
        let bytes = Array(bytes[index(of: place)..<index(of: range.upperBound)])
        return CRC32C.of(bytes.span) == batch.contextCRC ? bytes : nil
    }
}

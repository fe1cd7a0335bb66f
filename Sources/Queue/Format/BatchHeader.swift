internal import Bytes
internal import Time

/// How a batch stands in a segment; it starts on a block and fills whole ones; little-endian.
///
///     0            128 B  header
///     128          C      accept context, zeros up to a multiple of 8
///     128+C        8 N    length table: for each event, u32 length and u32 destination mask as in the record
///     128+C+8N     R      records, see `RecordLayout`
///                         zeros
///     size-136-C   C      accept context again
///     size-136     136 B  trailer
///
/// The header:
///
///     0  u32  "UPB1"
///     4  u32  CRC32C of bytes 8 ..< 128, seeded with the first four bytes of the queue's identity
///     8  u64  segment id
///    16  u64  epoch
///    24  u64  number of the batch in its segment, from 0, consecutive
///    32  u64  sequence number of its first event; the others follow without gaps
///    40  u32  N: events
///    44  u32  R: length of the records, bytes
///    48  u32  size of the batch, bytes, a multiple of the block
///    52  u16  length of the accept context before padding, bytes
///    54  u16  flags: 1 committed again after an error, so that its events stand in an earlier segment, too
///    56  u32  CRC32C of the accept context, without padding
///    60  u32  CRC32C of the length table
///    64  i64  wall time of the commit, milliseconds; Int64.min while the clock was not synchronised
///    72  u64  age clock, milliseconds; 2^50 - 1: not known, its events do not expire
///    80  u64  how many batches of the segment were known to be durable when this one was written
///    88  u32  zero
///    92  u32  where the batch stands in the file, in units of 512 bytes: a write that went astray is no batch
///    96  32 B zeros
///
/// The trailer:
///
///     0  u32   "UPT1"
///     4  128 B the header again
///   132  u32   CRC32C of bytes 0 ..< 132, seeded as the header's
struct BatchHeader: Equatable {
    static let size = 128
    static let trailerSize = 136
    /// Where the copy of the header stands in the trailer.
    static let trailerHeader = 4
    /// No batch is larger, bytes.
    static let maximumSize = size(
        context: maximumContext, events: OpenBatch.maximumEvents, records: OpenBatch.maximumBytes, block: Block.most)
    /// A header of which more bytes have changed is not recognised any more.
    private static let fewBytes = 8
    static let tableEntrySize = 8
    static let committedAgain: UInt16 = 1
    private static let magic: UInt32 = 0x3142_5055
    private static let trailerMagic: UInt32 = 0x3154_5055
    private static let maximumContext = 1_024
    /// Milliseconds; about 35,000 years.
    private static let maximumAge: UInt64 = 1 << 50
    /// Of events whose batch could not be read, so that nothing says when they expire.
    static let unknownAge = maximumAge - 1

    var segment: UInt64
    var epoch: UInt64
    var number: UInt64
    var first: UInt64
    var count: Int
    var recordBytes: Int
    var totalSize: Int
    var contextLength: Int
    var flags: UInt16
    var contextCRC: UInt32
    var tableCRC: UInt32
    var wall: WallTime
    var age: UInt64
    var durable: UInt64
    /// Where it stands in the file, bytes, a multiple of `Block.least`.
    var offset: Int

    /// The context with its padding.
    var contextSize: Int { roundedUp(contextLength, to: 8) }
    /// Where the table begins in the batch.
    var tableOffset: Int { Self.size + contextSize }
    /// Where the records begin in the batch.
    var recordsOffset: Int { tableOffset + Self.tableEntrySize * count }
    /// Where the second copy of the context begins in the batch.
    var contextCopyOffset: Int { totalSize - Self.trailerSize - contextSize }
    /// The last sequence number; `first - 1` in a batch without events.
    var last: UInt64 { first + UInt64(count) - 1 }
    /// What the checksum of a record begins from.
    var recordSeed: UInt32 { RecordLayout.seed(segment: segment, number: number, epoch: epoch) }

    /// The size of a batch, bytes.
    static func size(context: Int, events: Int, records: Int, block: Int) -> Int {
        let context = roundedUp(context, to: 8)
        return roundedUp(size + 2 * context + tableEntrySize * events + records + trailerSize, to: block)
    }

    /// Writes the header over the first bytes of `head` and the trailer onto the end of `tail`.
    func encode(over head: inout [UInt8], onto tail: inout [UInt8], seal: UInt32) {
        head.storeLittleEndian(Self.magic, at: 0)
        head.storeLittleEndian(segment, at: 8)
        head.storeLittleEndian(epoch, at: 16)
        head.storeLittleEndian(number, at: 24)
        head.storeLittleEndian(first, at: 32)
        head.storeLittleEndian(UInt32(count), at: 40)
        head.storeLittleEndian(UInt32(recordBytes), at: 44)
        head.storeLittleEndian(UInt32(totalSize), at: 48)
        head.storeLittleEndian(UInt16(contextLength), at: 52)
        head.storeLittleEndian(flags, at: 54)
        head.storeLittleEndian(contextCRC, at: 56)
        head.storeLittleEndian(tableCRC, at: 60)
        head.storeLittleEndian(wall.milliseconds, at: 64)
        head.storeLittleEndian(age, at: 72)
        head.storeLittleEndian(durable, at: 80)
        head.storeLittleEndian(UInt32(0), at: 88)
        head.storeLittleEndian(UInt32(offset / Block.least), at: 92)
        for place in stride(from: 96, to: Self.size, by: 8) { head.storeLittleEndian(UInt64(0), at: place) }
        head.storeLittleEndian(CRC32C.of(head, in: 8..<Self.size, seed: seal), at: 4)
        let start = tail.count
        tail.appendLittleEndian(Self.trailerMagic)
        tail.append(head, 0..<Self.size)
        tail.appendLittleEndian(CRC32C.of(tail, in: start..<tail.count, seed: seal))
    }
}

extension BatchHeader {
    /// True where it stands at `offset` of `bytes` with few bytes changed; an older one of another segment does not.
    func isRecognisable(in bytes: [UInt8], at offset: Int, seal: UInt32) -> Bool {
        var own = [UInt8](repeating: 0, count: Self.size)
        var trailer: [UInt8] = []
        encode(over: &own, onto: &trailer, seal: seal)
        let isOfSegment = own[8..<16] == bytes[offset + 8..<offset + 16]
        guard isOfSegment || own[4..<8] == bytes[offset + 4..<offset + 8] else { return false }
        return own.indices.count { own[$0] != bytes[offset + $0] } <= Self.fewBytes
    }

    /// Reads the header at `offset` of `bytes`; nil where there is no whole one of that segment.
    init?(_ bytes: [UInt8], at offset: Int, segment: UInt64, seal: UInt32) {
        guard offset + Self.size <= bytes.count,
            bytes.loadLittleEndian(at: offset, as: UInt32.self) == Self.magic,
            bytes.loadLittleEndian(at: offset + 8, as: UInt64.self) == segment,
            bytes.loadLittleEndian(at: offset + 4, as: UInt32.self)
                == CRC32C.of(bytes, in: offset + 8..<offset + Self.size, seed: seal)
        else { return nil }
        func word(_ place: Int) -> UInt64 { bytes.loadLittleEndian(at: offset + place, as: UInt64.self) }
        func half(_ place: Int) -> UInt32 { bytes.loadLittleEndian(at: offset + place, as: UInt32.self) }
        self.segment = segment
        epoch = word(16)
        number = word(24)
        first = word(32)
        count = Int(half(40))
        recordBytes = Int(half(44))
        totalSize = Int(half(48))
        contextLength = Int(bytes.loadLittleEndian(at: offset + 52, as: UInt16.self))
        flags = bytes.loadLittleEndian(at: offset + 54, as: UInt16.self)
        contextCRC = half(56)
        tableCRC = half(60)
        wall = WallTime(milliseconds: bytes.loadLittleEndian(at: offset + 64, as: Int64.self))
        age = word(72)
        durable = word(80)
        self.offset = Int(half(92)) * Block.least
        guard count <= OpenBatch.maximumEvents, recordBytes <= OpenBatch.maximumBytes,
            contextLength <= Self.maximumContext, totalSize % Block.least == 0,
            recordBytes >= count * RecordLayout.headerSize, recordsOffset + recordBytes <= contextCopyOffset,
            contextCopyOffset - recordsOffset - recordBytes < Block.most,
            (1...SegmentName.maximumSequence - UInt64(count)).contains(first), number < 1 << 32,
            durable <= number, age < Self.maximumAge, RecordLayout.isWritten(wall)
        else { return nil }
    }

    /// Reads the trailer that begins at `offset` of `bytes`; nil where there is no whole one of that segment.
    init?(trailer bytes: [UInt8], at offset: Int, segment: UInt64, seal: UInt32) {
        guard offset + Self.trailerSize <= bytes.count,
            bytes.loadLittleEndian(at: offset, as: UInt32.self) == Self.trailerMagic,
            bytes.loadLittleEndian(at: offset + 132, as: UInt32.self)
                == CRC32C.of(bytes, in: offset..<offset + 132, seed: seal)
        else { return nil }
        self.init(bytes, at: offset + 4, segment: segment, seal: seal)
    }
}

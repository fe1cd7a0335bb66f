internal import Bytes
internal import Time

/// The first block of a segment's file; 512 bytes, zeros up to the end of the block; little-endian.
///
///     0  8 B  "UPLINKS\n"
///     8  u32  CRC32C of bytes 12 ..< 512
///    12  u16  version: 1
///    14  u16  zero
///    16  u32  block, bytes: the first batch stands there
///    20  u32  flags: 1, the file was a retired segment of the queue, whose bytes lie behind the last batch
///    24  16 B identity of the queue
///    40  u64  segment id, never used twice in a queue
///    48  u64  epoch
///    56  u64  sequence number of its first event
///    64  u64  zero
///    72  i64  wall time, milliseconds; Int64.min while the clock was not synchronised
///    80  u64  age clock, milliseconds
///    88  u64  id of the previous segment of the log; 0: none
///    96  u64  how far that one is valid, bytes; what lies behind was never acknowledged
///   104  u64  the last sequence number in it that was acknowledged
///   112  u32  holes: events taken out by rewriting this segment
///   116  u32  zero
///   120  u64  features that a reader must know: none are defined
///   128  u64  zero
///   136  u8   length of the log's name
///   137  47 B the log's name
///   184  u64  length of the file, bytes; one that is shorter has been cut
///   192       zeros
///
/// Everything that reading needs stands in the batches as well; a damaged header costs nothing.
struct SegmentHeader: Equatable {
    static let size = 512
    private static let magic = Array("UPLINKS\n".utf8)
    private static let version: UInt16 = 1
    private static let nameRoom = 47

    var block: Int
    /// Of the file, bytes.
    var length: Int
    var isRecycled: Bool
    var identity: QueueIdentity
    var segment: UInt64
    var epoch: UInt64
    var first: UInt64
    var wall: WallTime
    var age: UInt64
    var previous: Previous?
    var holes: UInt32 = 0
    var log: LogName

    /// What the segment knows of the one before it.
    struct Previous: Equatable {
        let segment: UInt64
        let validLength: Int
        let last: UInt64
    }

    /// The last event that was acknowledged from a segment, as far as this one says, which stands behind it; 0 where it
    /// says it of another.
    func lastAcknowledged(from segment: UInt64) -> UInt64 {
        previous.map { $0.segment == segment ? $0.last : 0 } ?? 0
    }

    /// True where it is that of the segment with this name in this log of this queue.
    func isOf(_ name: SegmentName, log: LogName, identity: QueueIdentity) -> Bool {
        segment == name.id && first == name.first && self.log == log && self.identity == identity
    }

    /// A whole block.
    var encoded: [UInt8] {
        var bytes = Self.magic
        bytes.reserveCapacity(block)
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(Self.version)
        bytes.appendLittleEndian(UInt16(0))
        bytes.appendLittleEndian(UInt32(block))
        bytes.appendLittleEndian(UInt32(isRecycled ? 1 : 0))
        identity.encode(into: &bytes)
        bytes.appendLittleEndian(segment)
        bytes.appendLittleEndian(epoch)
        bytes.appendLittleEndian(first)
        bytes.appendLittleEndian(UInt64(0))
        bytes.appendLittleEndian(wall.milliseconds)
        bytes.appendLittleEndian(age)
        bytes.appendLittleEndian(previous?.segment ?? 0)
        bytes.appendLittleEndian(UInt64(previous?.validLength ?? 0))
        bytes.appendLittleEndian(previous?.last ?? 0)
        bytes.appendLittleEndian(holes)
        bytes.appendZeros(20)
        let name = Array(log.text.utf8)
        precondition(name.count <= Self.nameRoom)
        bytes.append(UInt8(name.count))
        bytes += name
        bytes.appendZeros(184 - bytes.count)
        bytes.appendLittleEndian(UInt64(length))
        bytes.appendZeros(block - bytes.count)
        bytes.storeLittleEndian(CRC32C.of(bytes, in: 12..<Self.size), at: 8)
        return bytes
    }
}

extension SegmentHeader {
    /// Reads a header; nil where the bytes are no whole one of version 1.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.size, bytes.starts(with: Self.magic),
            bytes.loadLittleEndian(at: 8, as: UInt32.self) == CRC32C.of(bytes, in: 12..<Self.size),
            bytes.loadLittleEndian(at: 12, as: UInt16.self) == Self.version,
            bytes.loadLittleEndian(at: 120, as: UInt64.self) == 0
        else { return nil }
        func word(_ offset: Int) -> UInt64 { bytes.loadLittleEndian(at: offset, as: UInt64.self) }
        block = Int(bytes.loadLittleEndian(at: 16, as: UInt32.self))
        isRecycled = bytes.loadLittleEndian(at: 20, as: UInt32.self) & 1 != 0
        identity = QueueIdentity(bytes, at: 24)
        segment = word(40)
        epoch = word(48)
        first = word(56)
        wall = WallTime(milliseconds: bytes.loadLittleEndian(at: 72, as: Int64.self))
        age = word(80)
        holes = bytes.loadLittleEndian(at: 112, as: UInt32.self)
        let nameLength = Int(bytes[136])
        guard Block.isPossible(block), (1...SegmentName.maximumSequence).contains(first), word(96) < 1 << 63,
            word(104) <= SegmentName.maximumSequence, word(184) < 1 << 63,
            nameLength <= Self.nameRoom, let log = LogName(text: Array(bytes[137..<137 + nameLength]).text)
        else { return nil }
        self.log = log
        length = Int(word(184))
        if word(88) != 0 { previous = Previous(segment: word(88), validLength: Int(word(96)), last: word(104)) }
    }
}

/// The name of a segment's file: `<id, 16 hexadecimal digits>-<first sequence number, 20 digits>.segment`.
struct SegmentName: Equatable {
    /// Beyond these no queue comes; a greater number was not written by one.
    static let maximumID: UInt64 = 1 << 48
    static let maximumSequence: UInt64 = 1 << 62
    /// Up to these a name that nothing bears out is made room for; beyond them there must be numbers left.
    static let maximumUnprovenID = maximumID / 2
    static let maximumUnprovenSequence = maximumSequence / 2
    private static let suffix = Array(".segment".utf8)

    let id: UInt64
    let first: UInt64

    var text: String {
        var text = Hexadecimal.digits(id)
        text.append(UInt8(ascii: "-"))
        var digits: [UInt8] = []
        digits.append(decimal: first)
        text.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 20 - digits.count))
        text += digits
        text += Self.suffix
        return text.text
    }

    init(id: UInt64, first: UInt64) {
        self.id = id
        self.first = first
    }

    /// Reads what `text` wrote; nil for anything else.
    init?(text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 45, bytes[16] == UInt8(ascii: "-"), Array(bytes[37...]) == Self.suffix,
            let id = Hexadecimal.value(bytes[0..<16]), bytes[17..<37].allSatisfy({ (48...57).contains($0) }),
            let first = UInt64(Array(bytes[17..<37]).text), (1...Self.maximumSequence).contains(first),
            id <= Self.maximumID
        else { return nil }
        self.init(id: id, first: first)
        guard self.text == text else { return nil }
    }
}

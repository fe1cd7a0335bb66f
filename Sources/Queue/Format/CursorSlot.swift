internal import Bytes

/// How far a destination has come in a log, in the file `cursors`; 512 bytes, one sector; little-endian.
///
///     0  u32  "UPC1"
///     4  u32  CRC32C of bytes 8 ..< 512, seeded with the first four bytes of the queue's identity
///     8  u64  generation, from 1; the newer of the two copies counts
///    16  u8   length of the destination's name
///    17  32 B the destination's name
///    49  u8   length of the log's name
///    50  46 B the log's name
///    96  u64  low: every lower sequence number is settled
///   104  u64  origin: events before the first that the destination is accountable for
///   112  u64  delivered
///   120  u64  dead
///   128  u64  expired
///   136  u64  evicted
///   144  u64  purged
///   152  u64  quarantined
///   160       zeros
///
/// Eight cursors share a pair of 4,096-byte pages. Cursor n has its copies at n % 8 · 512 in the pages 2 (n / 8) and
/// 2 (n / 8) + 1; generation g stands in the second where g is odd, so that writing one copy leaves the other's page
/// alone. There is no other ledger: `low - 1 - origin` is the sum of the six counters.
struct CursorSlot: Equatable {
    static let size = 512
    static let pageSize = 4_096
    static let perPair = 8
    private static let magic: UInt32 = 0x3143_5055

    var generation: UInt64
    var destination: String
    var log: LogName
    var low: UInt64
    var origin: UInt64
    var ledger: Ledger

    /// Where a copy stands in the file.
    static func offset(of index: Int, generation: UInt64) -> Int {
        (2 * (index / perPair) + Int(generation & 1)) * pageSize + index % perPair * size
    }

    func encode(seal: UInt32) -> [UInt8] {
        let destination = Array(destination.utf8)
        let log = Array(log.text.utf8)
        precondition(destination.count <= 32 && log.count <= 46)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.size)
        bytes.appendLittleEndian(Self.magic)
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(generation)
        bytes.append(UInt8(destination.count))
        bytes += destination
        bytes.appendZeros(49 - bytes.count)
        bytes.append(UInt8(log.count))
        bytes += log
        bytes.appendZeros(96 - bytes.count)
        bytes.appendLittleEndian(low)
        bytes.appendLittleEndian(origin)
        bytes.appendLittleEndian(ledger.delivered)
        bytes.appendLittleEndian(ledger.dead)
        bytes.appendLittleEndian(ledger.expired)
        bytes.appendLittleEndian(ledger.evicted)
        bytes.appendLittleEndian(ledger.purged)
        bytes.appendLittleEndian(ledger.quarantined)
        bytes.appendZeros(Self.size - bytes.count)
        bytes.storeLittleEndian(CRC32C.of(bytes, in: 8..<Self.size, seed: seal), at: 4)
        return bytes
    }
}

extension CursorSlot {
    /// Reads the copy at `offset` of `bytes`; nil where it is not whole or does not add up.
    init?(_ bytes: [UInt8], at offset: Int, seal: UInt32) {
        guard offset + Self.size <= bytes.count,
            bytes.loadLittleEndian(at: offset, as: UInt32.self) == Self.magic,
            bytes.loadLittleEndian(at: offset + 4, as: UInt32.self)
                == CRC32C.of(bytes, in: offset + 8..<offset + Self.size, seed: seal)
        else { return nil }
        func word(_ place: Int) -> UInt64 { bytes.loadLittleEndian(at: offset + place, as: UInt64.self) }
        func text(_ place: Int, atMost room: Int) -> String? {
            let length = Int(bytes[offset + place])
            let start = offset + place + 1
            return length <= room ? Array(bytes[start..<start + length]).text : nil
        }
        generation = word(8)
        guard let destination = text(16, atMost: 32), let name = text(49, atMost: 46), let log = LogName(text: name)
        else { return nil }
        self.destination = destination
        self.log = log
        low = word(96)
        origin = word(104)
        ledger = Ledger()
        ledger.delivered = word(112)
        ledger.dead = word(120)
        ledger.expired = word(128)
        ledger.evicted = word(136)
        ledger.purged = word(144)
        ledger.quarantined = word(152)
        let counts = (0..<6).map { word(112 + 8 * $0) }
        guard generation < 1 << 63, (1...SegmentName.maximumSequence).contains(low), origin < low,
            counts.allSatisfy({ $0 < 1 << 60 }), low - 1 - origin == ledger.total
        else { return nil }
    }
}

internal import Bytes
internal import Time

/// How an event stands in a batch on disk; little-endian.
///
///     0  u32  CRC32C of bytes 4 ..< 48 + length, seeded with the low 32 bits of
///              (segment id XOR batch number XOR epoch)
///     4  u32  length of the event
///     8  u64  sequence number
///    16  i64  wall time of acceptance, milliseconds; Int64.min while the clock was not synchronised
///    24  u32  time to live, seconds; 0: none
///    28  u32  destination mask; 0: all; bit 31: the event was purged, zeros stand in its place
///    32  16 B duplicate key; 0: none
///    48       the event, then zeros up to a multiple of 8
package enum RecordLayout {
    package static let headerSize = 48
    package static let noWallTime = Int64.min
    /// The years 0 to 9999, which is what a time is written for.
    private static let wallTimes =
        WallTime(milliseconds: -62_167_219_200_000)...WallTime(milliseconds: 253_402_300_799_999)
    package static let allDestinations: UInt32 = 0
    /// The bit of the mask that tells a hole.
    static let hole: UInt32 = 1 << 31

    /// True where the record whose header begins at `index` is a hole.
    static func isHole(_ bytes: borrowing [UInt8], at index: Int) -> Bool {
        bytes.loadLittleEndian(at: index + 28, as: UInt32.self) & hole != 0
    }

    /// The time that stands in a record; nil where there is none.
    static func wallTime(_ milliseconds: Int64) -> WallTime? {
        let time = WallTime(milliseconds: milliseconds)
        return wallTimes.contains(time) ? time : nil
    }

    /// True for what a queue writes for a time, which is `noWallTime` where there was none.
    static func isWritten(_ time: WallTime) -> Bool {
        time.milliseconds == noWallTime || wallTimes.contains(time)
    }

    /// What the checksums of a batch's records begin from.
    static func seed(segment: UInt64, number: UInt64, epoch: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: segment ^ number ^ epoch)
    }

    /// The header of a hole of which nothing but its number is known.
    static var emptyHole: [UInt8] {
        var header = [UInt8](repeating: 0, count: headerSize)
        header.storeLittleEndian(noWallTime, at: 16)
        header.storeLittleEndian(hole, at: 28)
        return header
    }

    /// Header, event and padding, in bytes.
    package static func size(ofEvent length: Int) -> Int { roundedUp(headerSize + length, to: 8) }
}

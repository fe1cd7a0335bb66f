import Bytes

@testable import Queue

/// Puts right the checksums of what a mutation has changed, so that absurd values come past them.
///
/// The offsets are those that `SegmentHeader`, `BatchHeader`, `RecordLayout` and `CursorSlot` draw.
struct Sealing: OptionSet {
    let rawValue: UInt8

    static let header = Sealing(rawValue: 1)
    static let batches = Sealing(rawValue: 2)
    static let parts = Sealing(rawValue: 4)
    static let records = Sealing(rawValue: 8)
    static let trailers = Sealing(rawValue: 16)

    private static let segmentMagic = Array("UPLINKS\n".utf8)
    private static let batchMagic: UInt32 = 0x3142_5055
    private static let trailerMagic: UInt32 = 0x3154_5055
    private static let cursorMagic: UInt32 = 0x3143_5055

    func seal(segment bytes: inout [UInt8], id: UInt64, with seal: UInt32) {
        if contains(.header), bytes.count >= SegmentHeader.size, bytes.starts(with: Self.segmentMagic) {
            bytes.storeLittleEndian(id, at: 40)
            bytes.storeLittleEndian(CRC32C.of(bytes, in: 12..<SegmentHeader.size), at: 8)
        }
        var at = 0
        while at + BatchHeader.size <= bytes.count {
            if bytes.loadLittleEndian(at: at, as: UInt32.self) == Self.batchMagic {
                self.seal(batchAt: at, of: &bytes, id: id, with: seal)
            }
            at += Block.least
        }
    }

    private func seal(batchAt at: Int, of bytes: inout [UInt8], id: UInt64, with seal: UInt32) {
        if contains(.batches) {
            bytes.storeLittleEndian(id, at: at + 8)
            bytes.storeLittleEndian(UInt32(at / Block.least), at: at + 92)
        }
        let number = bytes.loadLittleEndian(at: at + 24, as: UInt64.self)
        let count = Int(bytes.loadLittleEndian(at: at + 40, as: UInt32.self))
        let length = Int(bytes.loadLittleEndian(at: at + 44, as: UInt32.self))
        let size = Int(bytes.loadLittleEndian(at: at + 48, as: UInt32.self))
        let context = Int(bytes.loadLittleEndian(at: at + 52, as: UInt16.self))
        let table = at + BatchHeader.size + roundedUp(context, to: 8)
        let records = table + BatchHeader.tableEntrySize * count
        if contains(.records), records + length <= bytes.count {
            let seed = UInt32(truncatingIfNeeded: id ^ number)
            self.seal(recordsIn: records..<records + length, of: &bytes, seed: seed)
        }
        if contains(.parts), records <= bytes.count {
            let start = at + BatchHeader.size
            bytes.storeLittleEndian(CRC32C.of(bytes, in: start..<start + context), at: at + 56)
            bytes.storeLittleEndian(CRC32C.of(bytes, in: table..<records), at: at + 60)
        }
        if contains(.batches) {
            bytes.storeLittleEndian(CRC32C.of(bytes, in: at + 8..<at + BatchHeader.size, seed: seal), at: at + 4)
        }
        let trailer = at + size - BatchHeader.trailerSize
        guard contains(.trailers), trailer >= at + BatchHeader.size, at + size <= bytes.count else { return }
        bytes.storeLittleEndian(Self.trailerMagic, at: trailer)
        for index in 0..<BatchHeader.size { bytes[trailer + 4 + index] = bytes[at + index] }
        let end = trailer + 4 + BatchHeader.size
        bytes.storeLittleEndian(CRC32C.of(bytes, in: trailer..<end, seed: seal), at: end)
    }

    private func seal(recordsIn range: Range<Int>, of bytes: inout [UInt8], seed: UInt32) {
        var at = range.lowerBound
        while at + RecordLayout.headerSize <= range.upperBound {
            let length = Int(bytes.loadLittleEndian(at: at + 4, as: UInt32.self))
            let end = at + RecordLayout.headerSize + length
            guard end <= range.upperBound else { return }
            bytes.storeLittleEndian(CRC32C.of(bytes, in: at + 4..<end, seed: seed), at: at)
            at += RecordLayout.size(ofEvent: length)
        }
    }

    func seal(cursors bytes: inout [UInt8], with seal: UInt32) {
        guard contains(.header) else { return }
        var at = 0
        while at + CursorSlot.size <= bytes.count {
            if bytes.loadLittleEndian(at: at, as: UInt32.self) == Self.cursorMagic {
                let crc = CRC32C.of(bytes, in: at + 8..<at + CursorSlot.size, seed: seal)
                bytes.storeLittleEndian(crc, at: at + 4)
            }
            at += CursorSlot.size
        }
    }
}

internal import Bytes
internal import Time

/// The file `FORMAT`: what the directory is; written once, 4,096 bytes; little-endian.
///
///     0     512 B  the sheet
///     2048  512 B  the same again
///           zeros elsewhere
///
/// The sheet:
///
///     0  8 B  "UPLINKQ\n"
///     8  u32  CRC32C of bytes 12 ..< 512
///    12  u16  version: 1
///    14  u16  zero
///    16  16 B identity of the queue
///    32  u64  features that a reader must know: none are defined
///    40  u64  features that a reader may pass over: none are defined
///    48  i64  wall time of creation, milliseconds
///    56       zeros
///
/// A missing or unreadable FORMAT beside other files means that the directory is not a queue; nothing in it is touched.
struct FormatPage: Equatable {
    static let size = 4_096
    static let version: UInt16 = 1
    static let knownFeatures: UInt64 = 0
    private static let magic = Array("UPLINKQ\n".utf8)
    static let sheetSize = 512
    /// Where the sheets stand in the page.
    static let copies = [0, 2_048]

    let identity: QueueIdentity
    let created: WallTime

    var encoded: [UInt8] {
        var sheet = Self.magic
        sheet.appendLittleEndian(UInt32(0))
        sheet.appendLittleEndian(Self.version)
        sheet.appendLittleEndian(UInt16(0))
        identity.encode(into: &sheet)
        sheet.appendLittleEndian(UInt64(0))
        sheet.appendLittleEndian(UInt64(0))
        sheet.appendLittleEndian(created.milliseconds)
        sheet.appendZeros(Self.sheetSize - sheet.count)
        sheet.storeLittleEndian(CRC32C.of(sheet, in: 12..<Self.sheetSize), at: 8)
        var page: [UInt8] = []
        for copy in Self.copies {
            page.appendZeros(copy - page.count)
            page += sheet
        }
        page.appendZeros(Self.size - page.count)
        return page
    }

    /// What a page may turn out to be.
    enum Reading: Equatable {
        case good(FormatPage)
        /// Whole, but of another version or with features that are not known.
        case unknown(version: UInt16, features: UInt64)
        case unreadable
    }

    static func read(_ page: [UInt8]) -> Reading {
        for copy in copies where page.count >= copy + sheetSize {
            let sheet = Array(page[copy..<copy + sheetSize])
            guard sheet.starts(with: magic) else { continue }
            let crc = sheet.loadLittleEndian(at: 8, as: UInt32.self)
            guard crc == CRC32C.of(sheet, in: 12..<sheetSize) else { continue }
            let version = sheet.loadLittleEndian(at: 12, as: UInt16.self)
            let features = sheet.loadLittleEndian(at: 32, as: UInt64.self)
            guard version == Self.version, features & ~knownFeatures == 0 else {
                return .unknown(version: version, features: features)
            }
            let created = sheet.loadLittleEndian(at: 48, as: Int64.self)
            return .good(
                FormatPage(
                    identity: QueueIdentity(sheet, at: 16), created: WallTime(milliseconds: created)))
        }
        return .unreadable
    }
}

internal import Bytes
internal import Gates

/// The file `consent`: the states that operators have set; 4,096 bytes; little-endian.
///
///     0  u32  "UPA1"
///     4  u32  CRC32C of bytes 8 ..< 4,096, seeded with the first four bytes of the queue's identity
///     8  u32  how many categories, at most 65
///    12  u32  zero
///    16       for each 40 bytes: u32 CRC32C of its other 36, seeded as above; u8 state (1 allow, 2 hold, 3 deny);
///             u8 length of the name; 32 B the name; u16 zero. A name of no bytes stands for all that are not named
///             zeros
///
/// A category's own checksum lets its name be known where the rest is damaged.
enum ConsentRecord {
    static let path = "consent"
    static let newPath = "consent.new"
    static let size = 4_096
    private static let magic: UInt32 = 0x3141_5055
    private static let headSize = 16
    private static let entrySize = 40

    static func encode(_ states: [String: ConsentState], seal: UInt32) -> [UInt8] {
        precondition(headSize + states.count * entrySize <= size)
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(magic)
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(UInt32(states.count))
        bytes.appendLittleEndian(UInt32(0))
        for (category, state) in states.sorted(by: { $0.key < $1.key }) {
            let start = bytes.count
            bytes.appendLittleEndian(UInt32(0))
            bytes.append(state.rawValue)
            bytes.append(UInt8(category.utf8.count))
            bytes += category.utf8
            bytes.appendZeros(start + entrySize - bytes.count)
            bytes.storeLittleEndian(CRC32C.of(bytes, in: start + 4..<bytes.count, seed: seal), at: start)
        }
        bytes.appendZeros(size - bytes.count)
        bytes.storeLittleEndian(CRC32C.of(bytes, in: 8..<size, seed: seal), at: 4)
        return bytes
    }

    /// Reads what `encode` wrote; where it is not whole, the names in what is.
    static func read(_ bytes: [UInt8], seal: UInt32) -> KeptConsent {
        var states: [String: ConsentState] = [:]
        var isWhole =
            bytes.count == size && bytes.loadLittleEndian(at: 0, as: UInt32.self) == magic
            && bytes.loadLittleEndian(at: 4, as: UInt32.self) == CRC32C.of(bytes, in: 8..<size, seed: seal)
        for start in stride(from: headSize, through: bytes.count - entrySize, by: entrySize) {
            guard let (category, state) = entry(bytes, at: start, seal: seal) else { continue }
            states[category] = state
        }
        if isWhole { isWhole = bytes.loadLittleEndian(at: 8, as: UInt32.self) == UInt32(states.count) }
        return isWhole ? .whole(states) : .lost(named: Set(states.keys).subtracting([Consent.others]))
    }

    private static func entry(_ bytes: [UInt8], at start: Int, seal: UInt32) -> (String, ConsentState)? {
        let length = Int(bytes[start + 5])
        guard length <= 32,
            bytes.loadLittleEndian(at: start, as: UInt32.self)
                == CRC32C.of(bytes, in: start + 4..<start + entrySize, seed: seal),
            let state = ConsentState(rawValue: bytes[start + 4])
        else { return nil }
        let category = Array(bytes[start + 6..<start + 6 + length]).text
        return category.isShortName || category == Consent.others ? (category, state) : nil
    }
}

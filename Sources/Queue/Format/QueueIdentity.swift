internal import Bytes

/// The 16 random bytes that tell one queue from another.
struct QueueIdentity: Equatable {
    static let size = 16

    let low: UInt64
    let high: UInt64

    /// What the checksums of batches, which carry no identity of their own, begin from.
    ///
    /// It leaves the daemon nowhere, so that no client can write an event that passes for a batch.
    var seal: UInt32 { UInt32(truncatingIfNeeded: low) }

    /// What the keys that tell repeats begin from.
    var keySeed: KeyedHash.Seed { KeyedHash.Seed(low: low, high: high) }

    func encode(into bytes: inout [UInt8]) {
        bytes.appendLittleEndian(low)
        bytes.appendLittleEndian(high)
    }

    init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// Reads the 16 bytes at `offset`, which must exist.
    init(_ bytes: [UInt8], at offset: Int) {
        low = bytes.loadLittleEndian(at: offset, as: UInt64.self)
        high = bytes.loadLittleEndian(at: offset + 8, as: UInt64.self)
    }
}

internal import CChecksum

/// CRC32C (RFC 3720, appendix B.4) of byte runs.
package enum CRC32C {
    /// The checksum of `bytes`, continuing `seed`, which is an earlier checksum or 0.
    package static func of(_ bytes: Span<UInt8>, seed: UInt32 = 0) -> UInt32 {
        bytes.withUnsafeBufferPointer { cc_crc32c(seed, $0.baseAddress, $0.count) }
    }

    /// The checksum of part of an array.
    package static func of(_ bytes: borrowing [UInt8], in range: Range<Int>, seed: UInt32 = 0) -> UInt32 {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
        return bytes.withUnsafeBytes { raw in
            raw.baseAddress.map { cc_crc32c(seed, $0 + range.lowerBound, range.count) } ?? seed
        }
    }

    /// The same by tables alone, for tests.
    package static func portable(_ bytes: Span<UInt8>, seed: UInt32 = 0) -> UInt32 {
        bytes.withUnsafeBufferPointer { cc_crc32c_portable(seed, $0.baseAddress, $0.count) }
    }
}

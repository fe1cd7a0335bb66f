/// SipHash-2-4 with a result of 128 bits (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012): without the
/// seed nobody can find two inputs of the same hash.
package struct KeyedHash: Sendable {
    /// 16 secret bytes.
    package struct Seed: Sendable, Hashable {
        let low: UInt64
        let high: UInt64

        package init(low: UInt64, high: UInt64) {
            self.low = low
            self.high = high
        }
    }

    private var state: (UInt64, UInt64, UInt64, UInt64)
    /// The bytes of the last word that is not full.
    private var tail: UInt64 = 0
    private var count: UInt64 = 0

    /// The hash of nothing yet.
    package init(_ seed: Seed) {
        state = (
            seed.low ^ 0x736F_6D65_7073_6575, seed.high ^ 0x646F_7261_6E64_6F83, seed.low ^ 0x6C79_6765_6E65_7261,
            seed.high ^ 0x7465_6462_7974_6573
        )
    }

    /// Goes on with more bytes.
    package mutating func add(_ bytes: Span<UInt8>) {
        var at = 0
        while at < bytes.count {
            if count & 7 == 0, bytes.count - at >= 8 {
                take(bytes.word(at: at))
                count &+= 8
                at += 8
            } else {
                add(bytes[at])
                at += 1
            }
        }
    }

    /// Goes on with a number.
    package mutating func add(_ number: UInt64) {
        for place in 0..<8 { add(UInt8(truncatingIfNeeded: number >> (8 * UInt64(place)))) }
    }

    private mutating func add(_ byte: UInt8) {
        tail |= UInt64(byte) << (8 * (count & 7))
        count &+= 1
        if count & 7 == 0 {
            take(tail)
            tail = 0
        }
    }

    /// The hash of all that was added.
    package consuming func finish() -> (low: UInt64, high: UInt64) {
        take(tail | count << 56)
        state.2 ^= 0xEE
        for _ in 0..<4 { round() }
        let low = state.0 ^ state.1 ^ state.2 ^ state.3
        state.1 ^= 0xDD
        for _ in 0..<4 { round() }
        return (low, state.0 ^ state.1 ^ state.2 ^ state.3)
    }

    private mutating func take(_ word: UInt64) {
        state.3 ^= word
        round()
        round()
        state.0 ^= word
    }

    private mutating func round() {
        state.0 &+= state.1
        state.2 &+= state.3
        state.1 = rotated(state.1, by: 13) ^ state.0
        state.3 = rotated(state.3, by: 16) ^ state.2
        state.0 = rotated(state.0, by: 32)
        state.2 &+= state.1
        state.0 &+= state.3
        state.1 = rotated(state.1, by: 17) ^ state.2
        state.3 = rotated(state.3, by: 21) ^ state.0
        state.2 = rotated(state.2, by: 32)
    }

    private func rotated(_ word: UInt64, by bits: UInt64) -> UInt64 { word << bits | word >> (64 - bits) }
}

extension Span<UInt8> {
    /// The eight bytes at `start`, which must lie inside, little-endian.
    fileprivate func word(at start: Int) -> UInt64 {
        precondition(start >= 0 && start + 8 <= count)
        return withUnsafeBytes {
            UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: start, as: UInt64.self))
        }
    }
}

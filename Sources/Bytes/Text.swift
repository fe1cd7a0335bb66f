extension StaticString {
    /// The UTF-8 byte at `index`, which must lie inside.
    @inlinable
    package func byte(at index: Int) -> UInt8 {
        precondition(index >= 0 && index < utf8CodeUnitCount)
        return utf8Start[index]
    }
}

extension Span<UInt8> {
    /// True where the bytes in `range` are those of `text`.
    @inlinable
    package func equals(_ text: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<range.count where self[range.lowerBound + index] != text.utf8Start[index] { return false }
        return true
    }

    /// True where the bytes in `range` are those of `text`, A to Z taken for a to z in both.
    @inlinable
    package func equalsIgnoringCase(_ text: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<range.count
        where self[range.lowerBound + index].lowercased != text.utf8Start[index].lowercased { return false }
        return true
    }

    /// The first place of `byte` at or after `start`; nil where there is none.
    @inlinable
    package func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        precondition(start >= 0)
        let pattern = 0x0101_0101_0101_0101 &* UInt64(byte)
        let high: UInt64 = 0x8080_8080_8080_8080
        var at = start
        while at <= count - 32 {
            let near = marks(of: pattern, at: at) | marks(of: pattern, at: at + 8)
            let far = marks(of: pattern, at: at + 16) | marks(of: pattern, at: at + 24)
            if (near | far) & high != 0 { break }
            at += 32
        }
        while at <= count - 8 {
            let hits = marks(of: pattern, at: at) & high
            if hits != 0 { return at + hits.trailingZeroBitCount / 8 }
            at += 8
        }
        while at < count {
            if self[at] == byte { return at }
            at += 1
        }
        return nil
    }

    /// The high bit of each of eight bytes that is that of `pattern`; above the first such byte there may be others.
    @inlinable
    @inline(__always)
    func marks(of pattern: UInt64, at offset: Int) -> UInt64 {
        let difference = word(at: offset) ^ pattern
        return (difference &- 0x0101_0101_0101_0101) & ~difference
    }
}

extension UInt8 {
    /// The same with A to Z turned into a to z.
    @inlinable
    package var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}

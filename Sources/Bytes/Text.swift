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
}

extension UInt8 {
    /// The same with A to Z turned into a to z.
    @inlinable
    package var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}

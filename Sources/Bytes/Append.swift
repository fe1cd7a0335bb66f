extension [UInt8] {
    /// Appends the bytes of a span.
    @inlinable
    package mutating func append(contentsOf span: Span<UInt8>) {
        span.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    /// Appends part of another array, without a copy between.
    @inlinable
    package mutating func append(_ other: borrowing [UInt8], _ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= other.count)
        other.withUnsafeBufferPointer { append(contentsOf: UnsafeBufferPointer(rebasing: $0[range])) }
    }

    /// Appends the UTF-8 of a string.
    @inlinable
    package mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends the UTF-8 of a string.
    @inlinable
    package mutating func append(utf8 text: String) {
        append(contentsOf: text.utf8)
    }

    /// Appends a number in decimal digits.
    @inlinable
    package mutating func append(decimal value: some FixedWidthInteger) {
        guard value != 0 else { return append(UInt8(ascii: "0")) }
        if value < 0 { append(UInt8(ascii: "-")) }
        let start = count
        var rest = UInt64(value.magnitude)
        while rest > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        }
        self[start...].reverse()
    }

    /// Appends `count` zero bytes.
    @inlinable
    package mutating func appendZeros(_ count: Int) {
        append(contentsOf: repeatElement(0, count: count))
    }

    /// Removes the first `count` bytes; the storage stays.
    @inlinable
    package mutating func dropPrefix(_ count: Int) {
        precondition(count >= 0 && count <= self.count)
        removeSubrange(0..<count)
    }

    /// The bytes as text, each malformed sequence replaced.
    @inlinable
    package var text: String { String(decoding: self, as: UTF8.self) }
}

/// The least multiple of `unit`, a power of two, that is not less than `value`.
@inlinable
package func roundedUp(_ value: Int, to unit: Int) -> Int {
    precondition(unit > 0 && unit & (unit - 1) == 0)
    return (value + unit - 1) & ~(unit - 1)
}

extension [UInt8] {
    /// True where all bytes in a range are zero.
    package func isZero(in range: Range<Int>) -> Bool {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        return withUnsafeBytes { raw in
            var at = range.lowerBound
            while at + 8 <= range.upperBound {
                if raw.loadUnaligned(fromByteOffset: at, as: UInt64.self) != 0 { return false }
                at += 8
            }
            while at < range.upperBound {
                if raw[at] != 0 { return false }
                at += 1
            }
            return true
        }
    }
}

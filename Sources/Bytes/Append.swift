extension [UInt8] {
    /// Grows by `count` bytes, all of which `write` must set.
    @inlinable
    @inline(__always)
    mutating func grow(by count: Int, _ write: (UnsafeMutableRawPointer) -> Void) {
        guard count > 0 else { return }
        append(addingCapacity: count) { output in
            output.withUnsafeMutableBufferPointer { raw, initialised in
                guard let base = raw.baseAddress else { return }
                write(UnsafeMutableRawPointer(base))
                initialised = count
            }
        }
    }

    /// Appends the bytes of a span.
    @inlinable
    package mutating func append(contentsOf span: Span<UInt8>) {
        span.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            grow(by: bytes.count) { $0.copyMemory(from: start, byteCount: bytes.count) }
        }
    }

    /// Appends another array, as bytes and not as any sequence.
    @inlinable
    package mutating func append(all other: borrowing [UInt8]) { append(other, 0..<other.count) }

    /// Appends part of another array, without a copy between.
    @inlinable
    package mutating func append(_ other: borrowing [UInt8], _ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= other.count)
        other.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            grow(by: range.count) { $0.copyMemory(from: start + range.lowerBound, byteCount: range.count) }
        }
    }

    /// Appends words in little-endian byte order, then a span, then zeros up to a multiple of `unit` bytes.
    @inlinable
    package mutating func append<let count: Int>(
        words: InlineArray<count, UInt64>, _ span: Span<UInt8>, paddedTo unit: Int
    ) {
        let used = 8 * count + span.count
        let size = roundedUp(used, to: unit)
        span.withUnsafeBufferPointer { bytes in
            grow(by: size) { target in
                for index in 0..<count {
                    target.storeBytes(of: words[index].littleEndian, toByteOffset: 8 * index, as: UInt64.self)
                }
                if let start = bytes.baseAddress {
                    (target + 8 * count).copyMemory(from: start, byteCount: bytes.count)
                }
                (target + used).initializeMemory(as: UInt8.self, repeating: 0, count: size - used)
            }
        }
    }

    /// Appends the UTF-8 of a string.
    @inlinable
    package mutating func append(_ text: StaticString) {
        grow(by: text.utf8CodeUnitCount) { $0.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount) }
    }

    /// Appends the UTF-8 of a string.
    @inlinable
    package mutating func append(utf8 text: String) {
        append(contentsOf: text.utf8)
    }

    /// Appends a number in decimal digits.
    @inlinable
    package mutating func append(decimal value: some FixedWidthInteger) {
        var rest = UInt64(value.magnitude)
        let sign = value < 0 ? 1 : 0
        var digits = 1
        var bound: UInt64 = 10
        while digits < 20, rest >= bound {
            digits += 1
            bound = bound &* 10
        }
        grow(by: sign + digits) { target in
            if sign > 0 { target.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self) }
            for place in (sign..<sign + digits).reversed() {
                let digit = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                target.storeBytes(of: digit, toByteOffset: place, as: UInt8.self)
                rest /= 10
            }
        }
    }

    /// Appends `count` zero bytes.
    @inlinable
    package mutating func appendZeros(_ count: Int) {
        grow(by: count) { $0.initializeMemory(as: UInt8.self, repeating: 0, count: count) }
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

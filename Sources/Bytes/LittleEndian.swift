extension [UInt8] {
    /// Appends an integer in little-endian byte order.
    @inlinable
    package mutating func appendLittleEndian<Value: FixedWidthInteger>(_ value: Value) {
        grow(by: MemoryLayout<Value>.size) { $0.storeBytes(of: value.littleEndian, as: Value.self) }
    }

    /// Writes an integer in little-endian byte order over the bytes at `offset`, which must exist.
    @inlinable
    package mutating func storeLittleEndian<Value: FixedWidthInteger>(_ value: Value, at offset: Int) {
        precondition(offset >= 0 && offset + MemoryLayout<Value>.size <= count)
        withUnsafeMutableBytes { $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self) }
    }

    /// The little-endian integer at `offset`, which must lie wholly inside.
    @inlinable
    package func loadLittleEndian<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value {
        precondition(offset >= 0 && offset + MemoryLayout<Value>.size <= count)
        return withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
    }
}

extension Span<UInt8> {
    /// The little-endian integer at `offset`, which must lie wholly inside.
    @inlinable
    package func loadLittleEndian<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value {
        precondition(offset >= 0 && offset + MemoryLayout<Value>.size <= count)
        return withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
    }
}

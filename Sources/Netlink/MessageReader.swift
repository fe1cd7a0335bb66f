internal import Bytes

/// A message of a datagram: `struct nlmsghdr` (netlink(7)) and the bytes after it.
struct Message: Hashable, Sendable {
    let type: UInt16
    let flags: UInt16
    let sequence: UInt32
    /// Where its body lies in the datagram.
    let body: Range<Int>
}

/// Walks the messages of a datagram; ends at the first whose length cannot be right.
struct MessageReader {
    static let headerSize = 16

    private let bytes: [UInt8]
    private let end: Int
    private var offset = 0

    /// The messages in the first `count` bytes.
    init(_ bytes: [UInt8], count: Int) {
        precondition(count <= bytes.count)
        self.bytes = bytes
        end = count
    }

    /// The next message.
    mutating func next() -> Message? {
        guard end - offset >= Self.headerSize else { return nil }
        let length = Int(bytes.loadNative(at: offset, as: UInt32.self))
        guard length >= Self.headerSize, length <= end - offset else { return nil }
        let message = Message(
            type: bytes.loadNative(at: offset + 4, as: UInt16.self),
            flags: bytes.loadNative(at: offset + 6, as: UInt16.self),
            sequence: bytes.loadNative(at: offset + 8, as: UInt32.self),
            body: offset + Self.headerSize..<offset + length)
        offset += min(roundedUp(length, to: 4), end - offset)
        return message
    }
}

/// An attribute: `struct rtattr` (rtnetlink(7)), without the two flag bits of its type.
struct Attribute: Hashable, Sendable {
    let type: Int
    let value: Range<Int>
}

/// Walks attributes; ends at the first whose length cannot be right.
struct AttributeReader {
    private static let headerSize = 4
    private static let typeMask: UInt16 = 0x3FFF

    private let bytes: [UInt8]
    private let end: Int
    private var offset: Int

    /// The attributes in a part of `bytes`, none where it is empty.
    init(_ bytes: [UInt8], in range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
        self.bytes = bytes
        offset = range.lowerBound
        end = range.upperBound
    }

    /// The next attribute.
    mutating func next() -> Attribute? {
        guard end - offset >= Self.headerSize else { return nil }
        let length = Int(bytes.loadNative(at: offset, as: UInt16.self))
        guard length >= Self.headerSize, length <= end - offset else { return nil }
        let type = bytes.loadNative(at: offset + 2, as: UInt16.self) & Self.typeMask
        let attribute = Attribute(type: Int(type), value: offset + Self.headerSize..<offset + length)
        offset += min(roundedUp(length, to: 4), end - offset)
        return attribute
    }
}

extension [UInt8] {
    /// The integer at `offset` in this machine's byte order, which netlink uses.
    func loadNative<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value {
        loadLittleEndian(at: offset, as: type).littleEndian
    }

    /// Appends an integer in this machine's byte order.
    mutating func appendNative<Value: FixedWidthInteger>(_ value: Value) {
        appendLittleEndian(value.littleEndian)
    }

    /// The integer that is the whole of `range`; nil where the range has another length.
    func native<Value: FixedWidthInteger>(_ range: Range<Int>, as type: Value.Type) -> Value? {
        range.count == MemoryLayout<Value>.size ? loadNative(at: range.lowerBound, as: type) : nil
    }
}

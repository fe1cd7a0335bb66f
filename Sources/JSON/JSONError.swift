/// Why bytes are not JSON, and where.
package struct JSONError: Error, Hashable, Sendable {
    /// What is wrong.
    package enum Kind: Hashable, Sendable {
        /// The text ends inside a value, or holds none.
        case unexpectedEnd
        case unexpectedByte
        /// Not UTF-8 by RFC 3629: overlong, a surrogate, above U+10FFFF, cut short.
        case invalidUTF8
        case invalidEscape
        /// A byte below 0x20 in a string.
        case controlCharacter
        case invalidNumber
        /// More than `JSONScanner.maximumDepth` levels.
        case tooDeep
        case byteOrderMark
        /// Something follows the value.
        case trailingBytes
    }

    package let kind: Kind
    /// Bytes from the start of the text.
    package let offset: Int

    package init(_ kind: Kind, at offset: Int) {
        self.kind = kind
        self.offset = offset
    }

    /// What is wrong, in a few words without the place.
    package var detail: String {
        switch kind {
        case .unexpectedEnd: "the JSON text ends too early"
        case .unexpectedByte: "unexpected byte in JSON"
        case .invalidUTF8: "not valid UTF-8"
        case .invalidEscape: "invalid escape in a string"
        case .controlCharacter: "control character in a string"
        case .invalidNumber: "invalid number"
        case .tooDeep: "nested more than \(JSONScanner.maximumDepth) deep"
        case .byteOrderMark: "byte order mark before the JSON text"
        case .trailingBytes: "something follows the JSON value"
        }
    }
}

internal import Bytes

/// Checks JSON text (RFC 8259) without building anything: strict UTF-8, at most `maximumDepth` levels, no recursion, no
/// allocation.
///
/// Lone surrogates written as escapes, duplicate member names and numbers of any length are valid.
package enum JSONScanner {
    /// How many levels of objects and arrays may be nested; the outermost is the first.
    package static let maximumDepth = 64

    /// Checks that `text` is one value with white space around it, and finds the value.
    package static func document(_ text: Span<UInt8>) throws(JSONError) -> JSONExtent {
        if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF { throw JSONError(.byteOrderMark, at: 0) }
        let extent = try value(in: text, from: 0)
        let end = skipWhitespace(in: text, from: extent.range.upperBound)
        guard end == text.count else { throw JSONError(.trailingBytes, at: end) }
        return extent
    }

    /// Checks the value that begins at `start` or after white space there; what follows it is not looked at.
    package static func value(in text: Span<UInt8>, from start: Int) throws(JSONError) -> JSONExtent {
        let first = skipWhitespace(in: text, from: start)
        guard first < text.count else { throw JSONError(.unexpectedEnd, at: text.count) }
        var at = first
        var depth = 0
        // A bit for each open level, the innermost lowest: 1 for an object.
        var objects: UInt64 = 0
        while true {
            if try enterValue(text, &at, &depth, &objects) { continue }
            while true {
                if depth == 0 {
                    return JSONExtent(kind: kind(ofFirst: text[first]), range: first..<at)
                }
                if try leaveValue(text, &at, &depth, &objects) { break }
            }
        }
    }

    /// The first place at or after `start` that is not white space; the text's count where there is none.
    package static func skipWhitespace(in text: Span<UInt8>, from start: Int) -> Int {
        var at = start
        while at < text.count, isWhitespace(text[at]) { at += 1 }
        return at
    }

    /// True for the four bytes that RFC 8259 calls white space.
    package static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}

/// What kind of value, and where.
package struct JSONExtent: Hashable, Sendable {
    package let kind: JSONKind
    package let range: Range<Int>
}

/// The kinds of JSON values.
package enum JSONKind: Hashable, Sendable {
    case object
    case array
    case string
    case number
    case boolean
    case null
}

extension JSONScanner {
    static func kind(ofFirst byte: UInt8) -> JSONKind {
        switch byte {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .boolean
        case UInt8(ascii: "n"): .null
        default: .number
        }
    }

    /// Takes a scalar, an empty container, or the opening of one with its first name; true where a value must follow.
    @inline(__always)
    private static func enterValue(
        _ text: Span<UInt8>, _ at: inout Int, _ depth: inout Int, _ objects: inout UInt64
    ) throws(JSONError) -> Bool {
        at = skipWhitespace(in: text, from: at)
        guard at < text.count else { throw JSONError(.unexpectedEnd, at: at) }
        switch text[at] {
        case UInt8(ascii: "\""):
            at = try string(text, from: at)
        case UInt8(ascii: "{"):
            guard depth < maximumDepth else { throw JSONError(.tooDeep, at: at) }
            at = skipWhitespace(in: text, from: at + 1)
            guard at < text.count else { throw JSONError(.unexpectedEnd, at: at) }
            if text[at] == UInt8(ascii: "}") {
                at += 1
            } else {
                depth += 1
                objects = objects << 1 | 1
                at = try name(text, from: at)
                return true
            }
        case UInt8(ascii: "["):
            guard depth < maximumDepth else { throw JSONError(.tooDeep, at: at) }
            at = skipWhitespace(in: text, from: at + 1)
            guard at < text.count else { throw JSONError(.unexpectedEnd, at: at) }
            if text[at] == UInt8(ascii: "]") {
                at += 1
            } else {
                depth += 1
                objects <<= 1
                return true
            }
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            at = try number(text, from: at)
        default:
            at = try literal(text, from: at)
        }
        return false
    }

    /// Takes what follows a value in a container; true where another value must follow, false where a container ended.
    @inline(__always)
    private static func leaveValue(
        _ text: Span<UInt8>, _ at: inout Int, _ depth: inout Int, _ objects: inout UInt64
    ) throws(JSONError) -> Bool {
        at = skipWhitespace(in: text, from: at)
        guard at < text.count else { throw JSONError(.unexpectedEnd, at: at) }
        let inObject = objects & 1 == 1
        let byte = text[at]
        if byte == UInt8(ascii: ",") {
            at += 1
            guard inObject else { return true }
            at = skipWhitespace(in: text, from: at)
            at = try name(text, from: at)
            return true
        }
        guard byte == (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
            throw JSONError(.unexpectedByte, at: at)
        }
        at += 1
        depth -= 1
        objects >>= 1
        return false
    }

    /// Takes a member's name and colon at `start`; where the value may begin.
    @inline(__always)
    private static func name(_ text: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
        guard start < text.count else { throw JSONError(.unexpectedEnd, at: start) }
        guard text[start] == UInt8(ascii: "\"") else { throw JSONError(.unexpectedByte, at: start) }
        let at = skipWhitespace(in: text, from: try string(text, from: start))
        guard at < text.count else { throw JSONError(.unexpectedEnd, at: at) }
        guard text[at] == UInt8(ascii: ":") else { throw JSONError(.unexpectedByte, at: at) }
        return at + 1
    }
}

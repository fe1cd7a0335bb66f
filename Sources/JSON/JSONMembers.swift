internal import Bytes

/// A member of an object in JSON text that `JSONScanner` has passed.
package struct JSONMember: Hashable, Sendable {
    /// The name between its quotation marks, as written.
    package let name: Range<Int>
    /// The name holds escapes, so its bytes are not the name itself.
    package let nameHasEscapes: Bool
    package let value: Range<Int>

    /// True where the name, its escapes resolved, is `other`.
    package func isNamed(_ other: StaticString, in text: Span<UInt8>) -> Bool {
        guard nameHasEscapes else { return text.equals(other, in: name) }
        let resolved = JSONText.unescaped(text, in: name)
        return resolved.span.equals(other, in: 0..<resolved.count)
    }

    /// True where the name, its escapes resolved, is `other`.
    package func isNamed(_ other: [UInt8], in text: Span<UInt8>) -> Bool {
        guard !nameHasEscapes else { return JSONText.unescaped(text, in: name) == other }
        guard name.count == other.count else { return false }
        for index in 0..<other.count where text[name.lowerBound + index] != other[index] { return false }
        return true
    }
}

/// Walks the top-level members of an object in JSON text that `JSONScanner` has passed, in order, without allocation.
///
///     var members = JSONMembers(objectAt: 0)
///     while let member = members.next(in: text) { … }
package struct JSONMembers: Sendable {
    private var at: Int

    /// A walk of the object whose opening brace stands at `start`.
    package init(objectAt start: Int) { at = start + 1 }

    /// The next member; nil after the last, when `closingBrace` is known.
    package mutating func next(in text: Span<UInt8>) -> JSONMember? {
        at = JSONScanner.skipWhitespace(in: text, from: at)
        if at < text.count, text[at] == UInt8(ascii: ",") { at = JSONScanner.skipWhitespace(in: text, from: at + 1) }
        guard at < text.count, text[at] == UInt8(ascii: "\"") else { return nil }
        let name = Self.skipString(text, from: at)
        guard name.end > at + 1 else { return nil }
        let colon = JSONScanner.skipWhitespace(in: text, from: name.end)
        let value = JSONScanner.skipWhitespace(in: text, from: min(colon + 1, text.count))
        let end = Self.skipValue(text, from: value)
        let member = JSONMember(name: at + 1..<name.end - 1, nameHasEscapes: name.hasEscapes, value: value..<end)
        at = end
        return member
    }

    /// Where the closing brace stands, once `next` has returned nil.
    package var closingBrace: Int { at }

    /// True where the object that begins at `start` has a top-level member of that name, escapes resolved.
    package static func object(at start: Int, in text: Span<UInt8>, has name: StaticString) -> Bool {
        var members = JSONMembers(objectAt: start)
        while let member = members.next(in: text) {
            if member.isNamed(name, in: text) { return true }
        }
        return false
    }

    /// Where the string at `start` ends, after its closing quotation mark.
    private static func skipString(_ text: Span<UInt8>, from start: Int) -> (end: Int, hasEscapes: Bool) {
        var at = start + 1
        var hasEscapes = false
        while true {
            at = text.firstQuoteOrBackslash(from: at)
            guard at < text.count else { return (text.count, hasEscapes) }
            if text[at] == UInt8(ascii: "\"") { return (at + 1, hasEscapes) }
            hasEscapes = true
            at += 2
        }
    }

    /// Where the value at `start` ends.
    fileprivate static func skipValue(_ text: Span<UInt8>, from start: Int) -> Int {
        var at = start
        var depth = 0
        while at < text.count {
            switch text[at] {
            case UInt8(ascii: "\""):
                at = skipString(text, from: at).end
                if depth == 0 { return at }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                at += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return at }
                depth -= 1
                at += 1
                if depth == 0 { return at }
            case UInt8(ascii: ","), 0x20, 0x0A, 0x0D, 0x09:
                if depth == 0 { return at }
                at += 1
            default:
                at += 1
            }
        }
        return text.count
    }
}

/// Walks the elements of an array in JSON text that `JSONScanner` has passed, in order, without allocation.
package struct JSONElements: Sendable {
    private var at: Int

    /// A walk of the array whose opening bracket stands at `start`.
    package init(arrayAt start: Int) { at = start + 1 }

    /// The next element; nil after the last.
    package mutating func next(in text: Span<UInt8>) -> Range<Int>? {
        at = JSONScanner.skipWhitespace(in: text, from: at)
        if at < text.count, text[at] == UInt8(ascii: ",") { at = JSONScanner.skipWhitespace(in: text, from: at + 1) }
        guard at < text.count, text[at] != UInt8(ascii: "]") else { return nil }
        let start = at
        at = JSONMembers.skipValue(text, from: start)
        return start..<at
    }
}

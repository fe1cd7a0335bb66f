internal import Bytes

/// A small JSON document, read into memory whole; not for events.
package indirect enum JSONValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    /// The number as written.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// The members in their order; names may repeat.
    case object([Member])

    /// A member of an object.
    package struct Member: Hashable, Sendable {
        package let name: String
        package let value: JSONValue
    }

    /// Reads a document; throws what `JSONScanner.document` throws.
    package init(parsing text: [UInt8]) throws(JSONError) {
        let extent = try JSONScanner.document(text.span)
        self = Self.checked(text.span, extent.range)
    }

    /// Reads a value that the scanner has passed; recursion is bounded by its depth limit.
    private static func checked(_ text: Span<UInt8>, _ range: Range<Int>) -> JSONValue {
        switch JSONScanner.kind(ofFirst: text[range.lowerBound]) {
        case .null: return .null
        case .boolean: return .boolean(text[range.lowerBound] == UInt8(ascii: "t"))
        case .number: return .number(string(text, range))
        case .string: return .string(string(text, range.lowerBound + 1..<range.upperBound - 1))
        case .array:
            var elements = JSONElements(arrayAt: range.lowerBound)
            var values: [JSONValue] = []
            while let element = elements.next(in: text) { values.append(checked(text, element)) }
            return .array(values)
        case .object:
            var members = JSONMembers(objectAt: range.lowerBound)
            var values: [Member] = []
            while let member = members.next(in: text) {
                values.append(Member(name: string(text, member.name), value: checked(text, member.value)))
            }
            return .object(values)
        }
    }

    private static func string(_ text: Span<UInt8>, _ range: Range<Int>) -> String {
        JSONText.unescaped(text, in: range).text
    }
}

extension JSONValue {
    /// The value of the last member of that name; nil where there is none, or this is no object.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// The elements of an array; nil for anything else.
    package var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members of an object; nil for anything else.
    package var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The text of a string; nil for anything else.
    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of a whole number that fits; nil for anything else.
    package var integer: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }

    /// The value of a number, rounded to what a `Double` holds; nil for anything else.
    package var double: Double? {
        if case .number(let text) = self { Double(text) } else { nil }
    }

    /// The value of `true` and `false`; nil for anything else.
    package var boolean: Bool? {
        if case .boolean(let value) = self { value } else { nil }
    }
}

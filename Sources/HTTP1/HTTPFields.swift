internal import Bytes

/// The fields of a head, in their order, as bytes.
package struct HTTPFields: Sendable {
    private struct Field: Sendable {
        let name: Range<Int>
        let value: Range<Int>
    }

    /// The head that the fields stand in.
    let bytes: [UInt8]
    private var fields: [Field] = []

    init(bytes: [UInt8]) {
        self.bytes = bytes
        fields.reserveCapacity(8)
    }

    mutating func append(name: Range<Int>, value: Range<Int>) {
        fields.append(Field(name: name, value: value))
    }

    /// How many there are.
    package var count: Int { fields.count }

    /// The name of the field at `index`, as written.
    package func name(at index: Int) -> String { Array(bytes[fields[index].name]).text }

    /// The value of the field at `index`, without white space around it.
    package func value(at index: Int) -> [UInt8] { Array(bytes[fields[index].value]) }

    /// The value of the first field of that name, in any case; nil where there is none.
    package subscript(_ name: StaticString) -> [UInt8]? {
        firstIndex(name).map { Array(bytes[fields[$0].value]) }
    }

    /// The values of all fields of that name, in any case.
    package func values(_ name: StaticString) -> [[UInt8]] {
        ranges(name).map { Array(bytes[$0]) }
    }

    /// Where the values of all fields of that name stand.
    func ranges(_ name: StaticString) -> [Range<Int>] {
        let span = bytes.span
        var found: [Range<Int>] = []
        for field in fields where span.equalsIgnoringCase(name, in: field.name) { found.append(field.value) }
        return found
    }

    /// True where a field of that name lists that token between commas, both in any case (RFC 9110, section 5.6.1).
    package func list(_ name: StaticString, has token: StaticString) -> Bool {
        let span = bytes.span
        for field in fields where span.equalsIgnoringCase(name, in: field.name) {
            for element in elements(field.value) where span.equalsIgnoringCase(token, in: element) { return true }
        }
        return false
    }

    /// The elements of a list between commas, without white space, empty ones left out.
    private func elements(_ value: Range<Int>) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var start = value.lowerBound
        for at in value.lowerBound...value.upperBound
        where at == value.upperBound || bytes[at] == UInt8(ascii: ",") {
            let element = trimmed(start..<at)
            if !element.isEmpty { found.append(element) }
            start = at + 1
        }
        return found
    }

    /// The range without spaces and tabs at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high, bytes[low] == 0x20 || bytes[low] == 0x09 { low += 1 }
        while low < high, bytes[high - 1] == 0x20 || bytes[high - 1] == 0x09 { high -= 1 }
        return low..<high
    }

    private func firstIndex(_ name: StaticString) -> Int? {
        fields.firstIndex { bytes.span.equalsIgnoringCase(name, in: $0.name) }
    }
}

internal import Bytes

/// Writes JSON text, minding the commas; the caller minds that what is begun is ended.
package struct JSONWriter: Sendable {
    /// What was written so far.
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init() {}

    /// Opens an object.
    package mutating func beginObject() { open("{") }
    /// Closes the object that was opened last.
    package mutating func endObject() { close("}") }
    /// Opens an array.
    package mutating func beginArray() { open("[") }
    /// Closes the array that was opened last.
    package mutating func endArray() { close("]") }

    /// Writes the name of a member, whose value must follow.
    package mutating func name(_ name: String) {
        text(Array(name.utf8))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string.
    package mutating func string(_ value: String) { text(Array(value.utf8)) }

    /// Writes a string from UTF-8; what is malformed is replaced.
    package mutating func text(_ value: [UInt8]) {
        separate()
        JSONText.append(quoted: value.span, to: &bytes)
    }

    /// Writes a whole number.
    package mutating func number(_ value: some FixedWidthInteger) {
        separate()
        bytes.append(decimal: value)
    }

    /// Writes a number with a fraction, or `null` for an infinity or no number.
    package mutating func number(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        bytes.append(utf8: "\(value)")
    }

    /// Writes `true` or `false`.
    package mutating func boolean(_ value: Bool) {
        separate()
        bytes.append(value ? "true" : "false")
    }

    /// Writes `null`.
    package mutating func null() {
        separate()
        bytes.append("null")
    }

    /// Writes a value that is JSON text already.
    package mutating func raw(_ value: [UInt8]) {
        separate()
        bytes += value
    }

    private mutating func open(_ bracket: StaticString) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: StaticString) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}

extension JSONWriter {
    /// Writes a member whose value is a string, or `null`.
    package mutating func member(_ name: String, _ value: String?) {
        self.name(name)
        if let value { string(value) } else { null() }
    }

    /// Writes a member whose value is a whole number, or `null`.
    package mutating func member<Number: FixedWidthInteger>(_ name: String, _ value: Number?) {
        self.name(name)
        if let value { number(value) } else { null() }
    }

    /// Writes a member whose value is a number with a fraction, or `null`.
    package mutating func member(_ name: String, _ value: Double?) {
        self.name(name)
        if let value { number(value) } else { null() }
    }

    /// Writes a member whose value is `true`, `false` or `null`.
    package mutating func member(_ name: String, _ value: Bool?) {
        self.name(name)
        if let value { boolean(value) } else { null() }
    }
}

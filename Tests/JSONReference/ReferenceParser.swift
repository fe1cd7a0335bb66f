/// A second opinion on what is JSON, written the plain way: recursive, a byte at a time.
package struct ReferenceParser {
    private let text: [UInt8]
    private var at = 0

    /// True for one JSON text (RFC 8259) in UTF-8, nested at most 64 deep, with nothing but white space around it.
    package static func accepts(_ text: [UInt8]) -> Bool {
        guard String(validating: text, as: UTF8.self) != nil else { return false }
        var parser = ReferenceParser(text: text)
        parser.space()
        guard parser.value(level: 1) else { return false }
        parser.space()
        return parser.at == text.count
    }

    private init(text: [UInt8]) { self.text = text }

    private var next: UInt8? { at < text.count ? text[at] : nil }

    private mutating func take(_ character: Character) -> Bool {
        guard next == character.asciiValue else { return false }
        at += 1
        return true
    }

    private mutating func space() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { at += 1 }
    }

    private mutating func value(level: Int) -> Bool {
        switch next.map({ Character(Unicode.Scalar($0)) }) {
        case "{": level <= 64 && object(level: level)
        case "[": level <= 64 && array(level: level)
        case "\"": string()
        case "t": word("true")
        case "f": word("false")
        case "n": word("null")
        default: number()
        }
    }

    private mutating func object(level: Int) -> Bool {
        guard take("{") else { return false }
        space()
        if take("}") { return true }
        repeat {
            space()
            guard string() else { return false }
            space()
            guard take(":") else { return false }
            space()
            guard value(level: level + 1) else { return false }
            space()
        } while take(",")
        return take("}")
    }

    private mutating func array(level: Int) -> Bool {
        guard take("[") else { return false }
        space()
        if take("]") { return true }
        repeat {
            space()
            guard value(level: level + 1) else { return false }
            space()
        } while take(",")
        return take("]")
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        while let byte = next {
            at += 1
            switch byte {
            case 0x22: return true
            case 0..<0x20: return false
            case 0x5C:
                guard let escaped = next else { return false }
                at += 1
                if escaped == UInt8(ascii: "u") {
                    guard at + 4 <= text.count,
                        text[at..<at + 4].allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit && $0 < 128 })
                    else { return false }
                    at += 4
                } else if !Array("\"\\/bfnrt".utf8).contains(escaped) {
                    return false
                }
            default: continue
            }
        }
        return false
    }

    private mutating func word(_ word: String) -> Bool {
        guard text[at...].starts(with: word.utf8) else { return false }
        at += word.utf8.count
        return true
    }

    private mutating func digits() -> Bool {
        let start = at
        while let byte = next, (48...57).contains(byte) { at += 1 }
        return at > start
    }

    private mutating func number() -> Bool {
        _ = take("-")
        if !take("0"), !digits() { return false }
        if take("."), !digits() { return false }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            return digits()
        }
        return true
    }
}

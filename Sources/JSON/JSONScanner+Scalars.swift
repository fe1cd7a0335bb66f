internal import Bytes

extension JSONScanner {
    /// Takes the string whose quotation mark stands at `start`; where it ended.
    static func string(_ text: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
        var at = start + 1
        while true {
            at = text.firstStopOfString(from: at)
            guard at < text.count else { throw JSONError(.unexpectedEnd, at: at) }
            switch text[at] {
            case UInt8(ascii: "\""): return at + 1
            case UInt8(ascii: "\\"): at = try escape(text, from: at)
            case 0x80...: at = try multibyte(text, from: at)
            default: throw JSONError(.controlCharacter, at: at)
            }
        }
    }

    private static func escape(_ text: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
        guard start + 1 < text.count else { throw JSONError(.unexpectedEnd, at: text.count) }
        switch text[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 2
        case UInt8(ascii: "u"):
            for place in start + 2..<start + 6 {
                guard place < text.count else { throw JSONError(.unexpectedEnd, at: text.count) }
                guard isHexadecimal(text[place]) else { throw JSONError(.invalidEscape, at: start) }
            }
            return start + 6
        default:
            throw JSONError(.invalidEscape, at: start)
        }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }

    @inline(__always)
    private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    /// Takes the run of well-formed sequences of two to four bytes at `start` (RFC 3629, section 4); where it ended.
    private static func multibyte(_ text: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
        var at = start
        while at < text.count, text[at] >= 0x80 {
            let first = text[at]
            let length: Int
            var low: UInt8 = 0x80
            var high: UInt8 = 0xBF
            switch first {
            case 0xC2...0xDF: length = 2
            case 0xE0: (length, low) = (3, 0xA0)
            case 0xED: (length, high) = (3, 0x9F)
            case 0xE1...0xEF: length = 3
            case 0xF0: (length, low) = (4, 0x90)
            case 0xF1...0xF3: length = 4
            case 0xF4: (length, high) = (4, 0x8F)
            default: throw JSONError(.invalidUTF8, at: at)
            }
            for place in at + 1..<at + length {
                guard place < text.count else { throw JSONError(.unexpectedEnd, at: text.count) }
                guard text[place] >= low, text[place] <= high else { throw JSONError(.invalidUTF8, at: at) }
                (low, high) = (0x80, 0xBF)
            }
            at += length
        }
        return at
    }

    /// Takes the number at `start`; where it ended.
    @inline(__always)
    static func number(_ text: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
        var at = start
        if text[at] == UInt8(ascii: "-") { at += 1 }
        guard at < text.count else { throw JSONError(.unexpectedEnd, at: at) }
        if text[at] == UInt8(ascii: "0") {
            at += 1
            if at < text.count, isDigit(text[at]) { throw JSONError(.invalidNumber, at: start) }
        } else {
            at = try digits(text, from: at, of: start)
        }
        if at < text.count, text[at] == UInt8(ascii: ".") { at = try digits(text, from: at + 1, of: start) }
        if at < text.count, text[at] | 0x20 == UInt8(ascii: "e") {
            at += 1
            if at < text.count, text[at] == UInt8(ascii: "+") || text[at] == UInt8(ascii: "-") { at += 1 }
            at = try digits(text, from: at, of: start)
        }
        return at
    }

    @inline(__always)
    private static func digits(_ text: Span<UInt8>, from start: Int, of number: Int) throws(JSONError) -> Int {
        guard start < text.count else { throw JSONError(.unexpectedEnd, at: start) }
        guard isDigit(text[start]) else { throw JSONError(.invalidNumber, at: number) }
        var at = start + 1
        while at < text.count, isDigit(text[at]) { at += 1 }
        return at
    }

    /// Takes `true`, `false` or `null` at `start`; where it ended.
    static func literal(_ text: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
        switch text[start] {
        case UInt8(ascii: "t"): try word(text, from: start, "true")
        case UInt8(ascii: "f"): try word(text, from: start, "false")
        case UInt8(ascii: "n"): try word(text, from: start, "null")
        default: throw JSONError(.unexpectedByte, at: start)
        }
    }

    private static func word(_ text: Span<UInt8>, from start: Int, _ word: StaticString) throws(JSONError) -> Int {
        var at = start
        for index in 0..<word.utf8CodeUnitCount {
            guard at < text.count else { throw JSONError(.unexpectedEnd, at: at) }
            guard text[at] == word.byte(at: index) else { throw JSONError(.unexpectedByte, at: at) }
            at += 1
        }
        return at
    }
}

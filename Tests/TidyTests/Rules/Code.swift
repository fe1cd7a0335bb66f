/// Swift text in which comments and the insides of string literals are blanks; lines stay where they are.
struct Code: Sendable {
    private(set) var text: [UInt8]
    private let source: [UInt8]
    private var index = 0

    init(_ source: String) {
        self.source = Array(source.utf8)
        text = []
        text.reserveCapacity(self.source.count)
        while index < self.source.count { next() }
    }

    private static let quote = UInt8(ascii: "\"")
    private static let mark = UInt8(ascii: "#")
    private static let slash = UInt8(ascii: "/")
    private static let star = UInt8(ascii: "*")
    private static let backslash = UInt8(ascii: "\\")

    private mutating func next() {
        let byte = source[index]
        if byte == Self.slash, peek(1) == Self.slash {
            while index < source.count, source[index] != 10 { blank(1) }
        } else if byte == Self.slash, peek(1) == Self.star {
            blankComment()
        } else if byte == Self.quote || byte == Self.mark, let string = openingQuote() {
            blankString(string)
        } else {
            text.append(byte)
            index += 1
        }
    }

    private func peek(_ offset: Int) -> UInt8 { index + offset < source.count ? source[index + offset] : 0 }

    /// True where so many bytes of that value stand, from `offset` on.
    private func stands(_ byte: UInt8, _ count: Int, at offset: Int = 0) -> Bool {
        for place in 0..<count where peek(offset + place) != byte { return false }
        return true
    }

    /// Blanks bytes, line ends excepted.
    private mutating func blank(_ count: Int) {
        for byte in source[index..<min(source.count, index + count)] { text.append(byte == 10 ? 10 : 32) }
        index += count
    }

    private mutating func blankComment() {
        var depth = 0
        repeat {
            if peek(0) == Self.slash, peek(1) == Self.star {
                depth += 1
                blank(2)
            } else if peek(0) == Self.star, peek(1) == Self.slash {
                depth -= 1
                blank(2)
            } else {
                blank(1)
            }
        } while depth > 0 && index < source.count
    }

    /// How many number signs and quotes begin a string here.
    private func openingQuote() -> (marks: Int, quotes: Int)? {
        var marks = 0
        while peek(marks) == Self.mark { marks += 1 }
        guard peek(marks) == Self.quote else { return nil }
        return (marks, stands(Self.quote, 3, at: marks) ? 3 : 1)
    }

    private mutating func blankString(_ string: (marks: Int, quotes: Int)) {
        blank(string.marks + string.quotes)
        while index < source.count {
            if stands(Self.quote, string.quotes), stands(Self.mark, string.marks, at: string.quotes) { break }
            let isEscape = peek(0) == Self.backslash && stands(Self.mark, string.marks, at: 1)
            if isEscape, peek(1 + string.marks) == UInt8(ascii: "(") {
                blank(2 + string.marks)
                blankInterpolation()
            } else {
                blank(isEscape ? 2 + string.marks : 1)
            }
        }
        blank(string.marks + string.quotes)
    }

    /// Up to the parenthesis that ends it; strings inside are strings.
    private mutating func blankInterpolation() {
        var depth = 1
        while depth > 0, index < source.count {
            if let string = openingQuote() {
                blankString(string)
                continue
            }
            if peek(0) == UInt8(ascii: "(") { depth += 1 }
            if peek(0) == UInt8(ascii: ")") { depth -= 1 }
            blank(1)
        }
    }

    /// A name with its place, and the bytes on both sides of it.
    struct Word: Sendable {
        let text: String
        /// From 1.
        let line: Int
        /// Where it begins and ends in the text.
        let range: Range<Int>
        let before: UInt8?
        let after: UInt8?
    }

    /// The names and keywords, in order.
    var words: [Word] {
        var words: [Word] = []
        var line = 1
        var index = 0
        while index < text.count {
            guard Self.isLetter(text[index]) else {
                if text[index] == 10 { line += 1 }
                index += 1
                continue
            }
            let start = index
            while index < text.count, Self.isLetter(text[index]) { index += 1 }
            words.append(
                Word(
                    text: String(decoding: text[start..<index], as: UTF8.self), line: line, range: start..<index,
                    before: start > 0 ? text[start - 1] : nil, after: index < text.count ? text[index] : nil))
        }
        return words
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 95 || byte >= 128
    }
}

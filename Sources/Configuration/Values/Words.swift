extension ValueKind where Value == Bool {
    /// `yes` or `no`, and what systemd takes for them.
    static let yesNo = ValueKind(
        { text throws(BadValue) in
            switch text.lowercased() {
            case "yes", "y", "true", "t", "on", "1": return true
            case "no", "n", "false", "f", "off", "0": return false
            default: throw BadValue("'\(text)' is neither yes nor no" + comment(after: text))
            }
        }, show: { $0 ? "yes" : "no" })
}

extension ValueKind where Value: RawRepresentable<String> & CaseIterable {
    /// One of the words that the type has.
    static var word: ValueKind {
        ValueKind(
            { text throws(BadValue) in
                guard let value = Value(rawValue: text) else { throw unknownWord(text, Value.allCases.map(\.rawValue)) }
                return value
            }, show: { $0.rawValue })
    }

    /// Words of the type, each at most once, with blanks between.
    static var words: ValueKind<[Value]> {
        ValueKind<[Value]>(
            { text throws(BadValue) in
                var values: [Value] = []
                for (word, offset) in split(text) {
                    guard let value = Value(rawValue: word) else {
                        throw unknownWord(word, Value.allCases.map(\.rawValue), at: offset)
                    }
                    guard !values.contains(where: { $0.rawValue == word }) else {
                        throw BadValue("'\(word)' stands there twice", at: offset)
                    }
                    values.append(value)
                }
                return values
            }, show: { $0.map(\.rawValue).joined(separator: " ") })
    }
}

extension ValueKind where Value == UInt32 {
    /// Permission bits in octal: `0660`.
    static let mode = ValueKind(
        { text throws(BadValue) in
            guard (3...4).contains(text.utf8.count), let value = UInt32(text, radix: 8), value <= 0o777,
                !text.hasPrefix("+")
            else { throw BadValue("'\(text)' is not a mode: write octal digits, such as 0660" + comment(after: text)) }
            return value
        }, show: { "0" + String($0, radix: 8) })
}

extension ValueKind where Value == String {
    /// An absolute path of at most `limit` bytes, without a slash at its end; what it throws quotes nothing, as some
    /// write a secret where its file belongs.
    static func path(limit: Int = 4_095) -> ValueKind {
        ValueKind(
            { text throws(BadValue) in
                guard text.hasPrefix("/") else { throw BadValue("a path is absolute: it begins with '/'") }
                guard text.utf8.count <= limit else {
                    throw BadValue("the path is longer than \(limit) bytes", at: limit)
                }
                var path = Substring(text)
                while path.count > 1, path.last == "/" { path.removeLast() }
                return String(path)
            }, show: { $0 })
    }

    /// The name of a file without a folder.
    static let fileName = ValueKind(
        { text throws(BadValue) in
            guard !text.utf8.contains(UInt8(ascii: "/")), text != ".", text != ".." else {
                throw BadValue("this takes the name of a file, without a folder" + comment(after: text))
            }
            return try ValueKind.text(limit: 255).parse(text)
        }, show: { $0 })

    /// Any text of at most `limit` bytes.
    static func text(limit: Int) -> ValueKind {
        ValueKind(
            { text throws(BadValue) in
                guard text.utf8.count <= limit else { throw BadValue("longer than \(limit) bytes", at: limit) }
                return text
            }, show: { $0 })
    }
}

/// What a link can be said to be.
let connectionTypes = ["ethernet", "wifi", "cellular", "vpn", "bluetooth", "loopback"]

func unknownWord(_ text: String, _ known: [String], at offset: Int = 0) -> BadValue {
    BadValue("'\(text)' is not one of \(known.joined(separator: ", "))" + comment(after: text), at: offset)
}

/// The words of a text, each with its place in characters.
func split(_ text: String) -> [(word: String, offset: Int)] {
    var words: [(word: String, offset: Int)] = []
    var word = ""
    for (offset, character) in text.unicodeScalars.enumerated() {
        if character == " " || character == "\t" {
            if !word.isEmpty { words.append((word, offset - word.unicodeScalars.count)) }
            word = ""
        } else {
            word.unicodeScalars.append(character)
        }
    }
    if !word.isEmpty { words.append((word, text.unicodeScalars.count - word.unicodeScalars.count)) }
    return words
}

/// Limits of lines, functions and files.
enum Lengths {
    static let columns = 120
    static let linesOfFunction = 70
    static let linesOfFile = 500

    static func check(_ file: SourceFile) -> [Finding] {
        var findings: [Finding] = []
        let lines = file.lines
        for (index, line) in lines.enumerated() where line.utf8.count > columns && line.count > columns {
            findings.append(
                Finding(path: file.path, line: index + 1, message: "\(line.count) columns, at most \(columns)"))
        }
        let count = lines.last == "" ? lines.count - 1 : lines.count
        if count > linesOfFile {
            findings.append(Finding(path: file.path, line: 0, message: "\(count) lines, at most \(linesOfFile)"))
        }
        guard file.path.hasSuffix(".swift") else { return findings }
        for function in functions(file.code) where function.lines > linesOfFunction {
            findings.append(
                Finding(
                    path: file.path, line: function.start,
                    message: "a function of \(function.lines) lines, at most \(linesOfFunction)"))
        }
        return findings
    }

    /// Functions, initialisers and the like that have a body.
    static func functions(_ code: Code) -> [(start: Int, lines: Int)] {
        code.words.filter { word in
            ["func", "init", "deinit", "subscript"].contains(word.text) && word.before != UInt8(ascii: ".")
        }.compactMap { word in
            guard let open = bodyStart(code.text, after: word.range.upperBound) else { return nil }
            let end = bodyEnd(code.text, from: open)
            return (word.line, code.text[word.range.lowerBound..<end].count { $0 == 10 } + 1)
        }
    }

    /// Where the body's brace stands; nil where the declaration ends without one.
    private static func bodyStart(_ text: [UInt8], after start: Int) -> Int? {
        var depth = 0
        var index = start
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "{"):
                if depth == 0 { return index }
            case UInt8(ascii: "}"):
                if depth == 0 { return nil }
            case 10:
                let next = text[index...].drop { $0 == 10 || $0 == 32 }
                let goesOn = ["where", "throws", "->", "{", "async"].contains { next.starts(with: Array($0.utf8)) }
                if depth == 0, !goesOn { return nil }
            default: break
            }
            if depth < 0 { return nil }
            index += 1
        }
        return nil
    }

    private static func bodyEnd(_ text: [UInt8], from open: Int) -> Int {
        var depth = 0
        for index in open..<text.count {
            if text[index] == UInt8(ascii: "{") { depth += 1 }
            if text[index] == UInt8(ascii: "}") { depth -= 1 }
            if depth == 0 { return index }
        }
        return text.count
    }
}

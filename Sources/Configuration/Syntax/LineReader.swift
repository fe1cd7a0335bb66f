/// Takes a file apart into statements, in the syntax of systemd.syntax(7) but without continued lines.
struct LineReader {
    let file: String
    private(set) var statements: [Statement] = []

    init(file: String) { self.file = file }

    mutating func read(_ bytes: [UInt8], problems: inout ProblemList) {
        var rest = bytes[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        let lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard let text = decode(line.last == UInt8(ascii: "\r") ? line.dropLast() : line) else {
                let origin = Origin(file: file, line: index + 1, column: 1)
                problems.add(.error, at: origin, "this line is not valid UTF-8, or has control characters")
                continue
            }
            read(Line(file: file, number: index + 1, scalars: text), problems: &problems)
        }
    }

    private func decode(_ bytes: ArraySlice<UInt8>) -> [Unicode.Scalar]? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let isPlain = text.unicodeScalars.allSatisfy { $0 == "\t" || $0.properties.generalCategory != .control }
        return isPlain ? Array(text.unicodeScalars) : nil
    }

    private mutating func read(_ line: Line, problems: inout ProblemList) {
        let whole = line.trimmed(line.scalars.indices)
        guard let first = line.scalars[whole].first, first != "#", first != ";" else { return }
        if line.scalars[whole].last == "\\" {
            problems.add(
                .error, at: line.origin(whole.upperBound - 1), "a line cannot be continued: write it as one line")
        } else if first == "[" {
            let malformed = Statement(content: .malformedSection, origin: line.origin(whole.lowerBound))
            statements.append(section(line, whole, &problems) ?? malformed)
        } else if let equals = line.scalars[whole].firstIndex(of: "=") {
            readAssignment(line, whole, equals, &problems)
        } else {
            problems.add(
                .error, at: line.origin(whole.lowerBound),
                "this line is neither a [Section], nor Key=Value, nor a comment")
        }
    }

    private mutating func readAssignment(
        _ line: Line, _ whole: Range<Int>, _ equals: Int, _ problems: inout ProblemList
    ) {
        let key = line.trimmed(whole.lowerBound..<equals)
        let value = line.trimmed(equals + 1..<whole.upperBound)
        guard !key.isEmpty else {
            problems.add(.error, at: line.origin(equals), "a key is missing before '='")
            return
        }
        let origin = line.origin(value.isEmpty ? equals + 1 : value.lowerBound)
        let content = Statement.Content.assignment(
            key: line.text(key), value: line.text(value), valueOrigin: origin)
        statements.append(Statement(content: content, origin: line.origin(key.lowerBound)))
    }

    /// `[name]` or `[name "instance"]`, nothing behind it; nil where it is neither.
    private func section(_ line: Line, _ whole: Range<Int>, _ problems: inout ProblemList) -> Statement? {
        guard whole.count >= 2, line.scalars[whole].last == "]" else {
            problems.add(
                .error, at: line.origin(whole.upperBound), "a section's line begins with '[' and ends with ']'")
            return nil
        }
        let inner = line.trimmed(whole.lowerBound + 1..<whole.upperBound - 1)
        let nameEnd = inner.first { line.isBlank($0) || line.scalars[$0] == "\"" } ?? inner.upperBound
        let name = inner.lowerBound..<nameEnd
        let quoted = line.trimmed(nameEnd..<inner.upperBound)
        guard !name.isEmpty else {
            problems.add(.error, at: line.origin(whole.lowerBound), "the section has no name")
            return nil
        }
        var instance: String?
        if !quoted.isEmpty {
            guard let text = unquoted(line, quoted) else {
                let bare = line.text(quoted).filter { $0 != "\"" }
                problems.add(
                    .error, at: line.origin(quoted.lowerBound),
                    "the name belongs in double quotes: [\(line.text(name)) \"\(bare)\"]")
                return nil
            }
            instance = text
        }
        return Statement(
            content: .section(name: line.text(name), instance: instance), origin: line.origin(name.lowerBound))
    }

    private func unquoted(_ line: Line, _ range: Range<Int>) -> String? {
        guard range.count >= 2 else { return nil }
        let inner = range.lowerBound + 1..<range.upperBound - 1
        guard line.scalars[range].first == "\"", line.scalars[range].last == "\"" else { return nil }
        return line.scalars[inner].contains("\"") ? nil : line.text(inner)
    }
}

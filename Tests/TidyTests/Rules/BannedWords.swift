/// Words that the code does without.
enum BannedWords {
    static func check(_ file: SourceFile) -> [Finding] {
        guard file.path.hasSuffix(".swift") else { return notes(file) }
        var findings = notes(file)
        let isSource = file.path.hasPrefix("Sources/")
        let code = file.code
        let words = code.words
        for (index, word) in words.enumerated() {
            let previous = index > 0 ? words[index - 1].text : ""
            if let message = judge(word, previous, isSource: isSource, file: file, code: code) {
                findings.append(Finding(path: file.path, line: word.line, message: message))
            }
        }
        return findings
    }

    private static let concurrency = ["async", "await", "actor", "Task", "DispatchQueue", "DispatchSource"]

    private static func judge(
        _ word: Code.Word, _ previous: String, isSource: Bool, file: SourceFile, code: Code
    ) -> String? {
        let isCall = word.after == UInt8(ascii: "(") && word.before != UInt8(ascii: ".") && previous != "func"
        switch word.text {
        case "try" where word.after == UInt8(ascii: "!"), "as" where word.after == UInt8(ascii: "!"):
            return "'\(word.text)!' is not for us: handle the error"
        case "print" where isCall, "debugPrint" where isCall, "dump" where isCall:
            return "'\(word.text)(' is buffered, or wide: write to a stream or the log"
        case "fatalError" where isCall && file.path != "Sources/Posix/Process.swift":
            return "'fatalError(': a broken invariant is a precondition, anything else is a state"
        case "fork" where isCall && isSource: return "'fork(': the daemon starts no process"
        case "unchecked" where word.before == UInt8(ascii: "@") && isSource && file.module != "Posix":
            return "'@unchecked' belongs in Posix"
        case "nonisolated" where isSource && file.module != "Posix":
            let tail = code.text[word.range.upperBound...].prefix(8)
            return tail.elementsEqual(Array("(unsafe)".utf8)) ? "'nonisolated(unsafe)' belongs in Posix" : nil
        case let name where isSource && concurrency.contains(name) && previous != "func":
            return "'\(name)': threads and mailboxes instead"
        default: return nil
        }
    }

    /// Notes to oneself, also in comments.
    private static func notes(_ file: SourceFile) -> [Finding] {
        let marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X"]
        return file.lines.enumerated().flatMap { index, line in
            marks.filter { line.contains($0) }.map {
                Finding(path: file.path, line: index + 1, message: "'\($0)': do it, or open an issue")
            }
        }
    }
}

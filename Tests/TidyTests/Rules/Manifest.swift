/// What Package.swift says of the targets.
struct Manifest {
    /// Swift modules of Sources, and what they depend on.
    private(set) var modules: [String: [String]] = [:]
    /// Targets in other languages.
    private(set) var others: [String] = []
    /// Test targets, and what only tests use.
    private(set) var tests: [String] = []

    init(_ text: String) {
        let testsFolder = "Tests/"
        let code = Code(text)
        for word in code.words where word.after == UInt8(ascii: "(") {
            let strings = Self.strings(text, code.text, from: word.range.upperBound)
            guard let name = strings.first else { continue }
            let isMember = word.before == UInt8(ascii: ".")
            switch word.text {
            case "module" where !isMember: modules[name] = Array(strings.dropFirst())
            case "executableTarget" where isMember, "target" where isMember, "systemLibrary" where isMember:
                if let path = strings.first(where: { $0.hasPrefix(testsFolder) }) {
                    tests.append(String(path.dropFirst(testsFolder.count)))
                } else if word.text == "executableTarget" {
                    modules[name] = Array(strings.dropFirst())
                } else {
                    others.append(name)
                }
            case "tests" where !isMember: tests.append(name)
            default: break
            }
        }
    }

    /// True behind `//` on the same line.
    private static func isComment(_ bytes: [UInt8], at index: Int) -> Bool {
        let line = bytes[..<index].reversed().prefix { $0 != 10 }
        return zip(line, line.dropFirst()).contains { $0 == 47 && $1 == 47 }
    }

    /// The string literals up to the parenthesis that ends the call.
    private static func strings(_ source: String, _ code: [UInt8], from open: Int) -> [String] {
        let bytes = Array(source.utf8)
        var depth = 0
        var found: [String] = []
        var index = open
        repeat {
            if code[index] == UInt8(ascii: "(") { depth += 1 }
            if code[index] == UInt8(ascii: ")") { depth -= 1 }
            if bytes[index] == UInt8(ascii: "\""), code[index] == 32, !isComment(bytes, at: index) {
                let end = bytes[(index + 1)...].firstIndex(of: UInt8(ascii: "\"")) ?? bytes.count - 1
                found.append(String(decoding: bytes[(index + 1)..<end], as: UTF8.self))
                index = end
            }
            index += 1
        } while depth > 0 && index < bytes.count
        return found
    }
}

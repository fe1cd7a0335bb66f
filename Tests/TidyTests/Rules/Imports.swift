/// Who may import whom.
enum Imports {
    /// Modules of the toolchain; only these stand in About.swift without being dependencies.
    static let toolchain = ["Glibc"]
    /// Modules for one home only.
    static let homes = ["Glibc": "Posix", "CCurl": "HTTPTransport", "CSystemd": "SystemdService"]
    static let banned = ["Foundation", "FoundationEssentials", "FoundationNetworking", "Dispatch", "Synchronization"]

    /// The imports of a file: access, name, line.
    static func imports(of file: SourceFile) -> [(access: String?, module: String, line: Int)] {
        let lines = file.code.text.split(separator: 10, omittingEmptySubsequences: false)
        return lines.enumerated().compactMap { index, bytes in
            guard let byte = bytes.first, byte > 32, byte != UInt8(ascii: "}") else { return nil }
            let line = String(decoding: bytes, as: UTF8.self)
            var words = line.split(separator: " ").map(String.init).filter { !$0.hasPrefix("@") }
            let access = ["public", "package", "internal", "fileprivate", "private"].contains(words.first ?? "")
            let first = access ? words.removeFirst() : nil
            guard words.count >= 2, words[0] == "import" else { return nil }
            let name = words.count > 2 ? words[2] : words[1]
            return (first, String(name.prefix { $0 != "." }), index + 1)
        }
    }

    /// Checks the imports of a file of Sources against what its module may import.
    static func check(_ file: SourceFile, allowed: [String]) -> [Finding] {
        imports(of: file).flatMap { access, module, line in
            var messages: [String] = []
            if access != "internal", access != "package" { messages.append("write 'internal import \(module)'") }
            if !allowed.contains(module) {
                messages.append("\(file.module) may not import \(module) (see its About.swift)")
            }
            if let home = homes[module], home != file.module { messages.append("only \(home) imports \(module)") }
            return (messages + isBanned(module)).map { Finding(path: file.path, line: line, message: $0) }
        }
    }

    /// Checks the imports of a test.
    static func checkTest(_ file: SourceFile) -> [Finding] {
        imports(of: file).flatMap { _, module, line in
            isBanned(module).map { Finding(path: file.path, line: line, message: $0) }
        }
    }

    private static func isBanned(_ module: String) -> [String] {
        banned.contains(module) ? ["\(module) is not used here"] : []
    }

    /// What About.swift allows; nil where it does not begin with the module's name or does not say.
    static func allowed(by about: SourceFile) -> [String]? {
        guard about.text.hasPrefix("// \(about.module): ") else { return nil }
        let comment = about.lines.prefix { $0.hasPrefix("//") }.map { $0.dropFirst(2) }.joined(separator: " ")
        let halves = comment.split(separator: "May import:").map(String.init)
        guard halves.count == 2, let list = halves[1].split(separator: ".").first else { return nil }
        let names = list.split { $0 == "," || $0 == " " }.map(String.init)
        return names == ["nothing"] ? [] : names
    }

    /// Checks that About.swift and Package.swift say the same.
    static func checkManifest(_ module: String, allowed: [String], dependencies: [String]) -> [Finding] {
        let written = Set(allowed).subtracting(toolchain)
        guard written != Set(dependencies) else { return [] }
        let more = written.subtracting(dependencies).sorted().joined(separator: ", ")
        let less = Set(dependencies).subtracting(written).sorted().joined(separator: ", ")
        return [
            Finding(
                path: "Sources/\(module)/About.swift", line: 0,
                message: "differs from Package.swift: [\(more)] stand only here, [\(less)] only there")
        ]
    }
}

import Bytes
import Posix

/// A text file of the repository.
struct SourceFile: Sendable {
    /// From the repository's root: `Sources/Queue/Queue.swift`.
    let path: String
    let text: String
    /// Its code, for a Swift file.
    let code: Code

    init(path: String, text: String) {
        self.path = path
        self.text = text
        code = Code(path.hasSuffix(".swift") ? text : "")
    }

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
    /// The path's parts.
    var parts: [Substring] { path.split(separator: "/") }
    /// The module that the file belongs to.
    var module: String { parts.count > 2 ? String(parts[1]) : "" }
}

/// Something against a rule.
struct Finding: Equatable, CustomStringConvertible {
    let path: String
    /// From 1; 0 for the whole file.
    let line: Int
    let message: String

    var description: String { line > 0 ? "\(path):\(line): \(message)" : "\(path): \(message)" }
}

/// The checkout that this test was built from.
struct Repository: Sendable {
    let root: String
    /// Swift, C and header files of Sources and Tests.
    let files: [SourceFile]
    /// Paths of Swift files anywhere in it.
    let swiftPaths: [String]
    let manifest: String

    /// Read once for all tests.
    static let shared = Result { try load() }

    private static func load() throws -> Repository {
        var parts = #filePath.split(separator: "/")
        parts.removeLast(3)
        let root = "/" + parts.joined(separator: "/")
        var paths: [String] = []
        try walk(root, "", &paths)
        let endings = [".swift", ".c", ".h"]
        let files = try paths.filter { path in
            (path.hasPrefix("Sources/") || path.hasPrefix("Tests/")) && endings.contains { path.hasSuffix($0) }
        }.map { SourceFile(path: $0, text: try contents(of: root + "/" + $0)) }
        let manifest = try contents(of: root + "/Package.swift")
        return Repository(
            root: root, files: files, swiftPaths: paths.filter { $0.hasSuffix(".swift") }, manifest: manifest)
    }

    private static func contents(of path: String) throws -> String {
        let file = try FileDescriptor.open(path, .readOnly)
        var bytes: [UInt8] = []
        _ = try file.read(upTo: max(1, Int(try file.status().size)), at: 0, into: &bytes)
        return bytes.text
    }

    func has(_ path: String) -> Bool { (try? FileSystem.status(of: root + "/" + path)) != nil }

    private static func walk(_ root: String, _ folder: String, _ paths: inout [String]) throws {
        for name in try FileSystem.names(in: root + "/" + folder) where !name.hasPrefix(".") {
            let path = folder.isEmpty ? name : folder + "/" + name
            switch try FileSystem.status(of: root + "/" + path).kind {
            case .directory: try walk(root, path, &paths)
            case .regular: paths.append(path)
            default: break
            }
        }
    }
}

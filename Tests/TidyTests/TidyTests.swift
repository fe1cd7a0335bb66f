import Testing

/// The rules, held against the whole repository.
struct TidyTests {
    private let repository: Repository
    private let manifest: Manifest

    init() throws {
        repository = try Repository.shared.get()
        manifest = Manifest(repository.manifest)
    }

    private func expectNone(_ findings: [Finding]) {
        #expect(findings.isEmpty, "\n\(findings.map(\.description).joined(separator: "\n"))")
    }

    @Test func theRepositoryIsRead() {
        #expect(repository.files.count > 50)
        #expect(manifest.modules.count > 15)
        #expect(manifest.modules["Posix"] == ["CLinux", "Bytes", "Time"])
        #expect(manifest.tests.contains("TidyTests"))
    }

    @Test func linesFunctionsAndFilesAreShort() { expectNone(repository.files.flatMap(Lengths.check)) }

    @Test func noBannedWord() { expectNone(repository.files.flatMap(BannedWords.check)) }

    @Test func modulesImportWhatTheySay() {
        var findings: [Finding] = []
        for (module, dependencies) in manifest.modules.sorted(by: { $0.key < $1.key }) {
            let files = repository.files.filter {
                $0.path.hasPrefix("Sources/\(module)/") && $0.path.hasSuffix(".swift")
            }
            let about = files.first { $0.path == "Sources/\(module)/About.swift" }
            guard let allowed = about.flatMap(Imports.allowed) else {
                findings.append(
                    Finding(
                        path: "Sources/\(module)/About.swift", line: 0,
                        message: "must begin with '// \(module): ' and say 'May import: …'"))
                continue
            }
            findings += files.flatMap { Imports.check($0, allowed: allowed) }
            findings += Imports.checkManifest(module, allowed: allowed, dependencies: dependencies)
        }
        let tests = repository.files.filter { $0.path.hasPrefix("Tests/") && $0.path.hasSuffix(".swift") }
        expectNone(findings + tests.flatMap(Imports.checkTest))
    }

    @Test func everyFileHasItsPlace() {
        expectNone(Layout.check(paths: repository.swiftPaths, manifest: manifest))
    }

    @Test func theWalksCanBeFollowed() { expectNone(Layout.missingSteps(repository.has)) }
}

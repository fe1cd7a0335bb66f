import Testing

/// Each rule finds what is planted, and nothing else.
struct RuleTests {
    private func source(_ text: String, _ path: String = "Sources/Queue/File.swift") -> SourceFile {
        SourceFile(path: path, text: text)
    }

    @Test func codeIsToldFromTextAndComments() {
        let text = #"""
            let a = "x \(call("y")) z" // note
            let b = """
                in "side" \#(1)
                """ /* a /* b */ c */ + d
            let e = #"raw \ " text"# + f
            let g = "\\" + h
            """#
        let words = Code(text).words.map(\.text)
        #expect(words == ["let", "a", "let", "b", "d", "let", "e", "f", "let", "g", "h"])
        #expect(Code(text).words.map(\.line) == [1, 1, 2, 2, 4, 5, 5, 5, 6, 6, 6])
    }

    @Test(arguments: [
        "let x = try! f()", "let x = y as! Z", "print(1)", "fatalError()", "Task { }", "func f() async {}",
        "let x = await f()", "actor A {}", "final class A: @unchecked Sendable {}", "nonisolated(unsafe) var x = 1",
        "DispatchQueue.main", "fork()", "// TO" + "DO: later", "/* FIX" + "ME */",
    ])
    func bannedWordsAreFound(_ text: String) {
        let findings = BannedWords.check(source("let a = 1\n" + text))
        #expect(findings.count == 1 && findings[0].line == 2, "\(text): \(findings)")
    }

    @Test(arguments: [
        "// print(1), try!, Task, await", "let x = \"fatalError( as! Task\"", "console.print(1)",
        "func print(_ x: Int) {}",
        "let asynchronous = 1", "try f()", "x as? Y", "nonisolated struct A {}", "let fork = 1", "let actors = 2",
    ])
    func harmlessWordsAreNot(_ text: String) {
        #expect(BannedWords.check(source(text)).isEmpty, "\(text)")
    }

    @Test func posixMayWhatOthersMayNot() {
        #expect(BannedWords.check(source("class A: @unchecked Sendable {}", "Sources/Posix/Lock.swift")).isEmpty)
        #expect(BannedWords.check(source("fatalError()", "Sources/Posix/Process.swift")).isEmpty)
        #expect(!BannedWords.check(source("fatalError()", "Sources/Posix/Lock.swift")).isEmpty)
    }

    @Test func longLinesFilesAndFunctionsAreFound() {
        let fits = String(repeating: "\u{e9}", count: 120)
        #expect(Lengths.check(source(fits)).isEmpty)
        #expect(Lengths.check(source("\n" + fits + "x")).map(\.line) == [2])
        #expect(Lengths.check(source(String(repeating: "\n", count: 500))).isEmpty)
        #expect(Lengths.check(source(String(repeating: "\n", count: 501))).map(\.line) == [0])
        #expect(Lengths.check(source(String(repeating: "\n", count: 501), "Sources/CLinux/a.c")).count == 1)
        func function(_ count: Int) -> String {
            "struct A {\n    func f(\n        _ x: Int\n    ) -> [Int]\n    where B: C\n    {\n"
                + String(repeating: "        g { }\n", count: count) + "    }\n}\n"
        }
        #expect(Lengths.check(source(function(64))).isEmpty)
        #expect(Lengths.check(source(function(65))).map(\.line) == [2])
    }

    @Test func functionsWithoutABodyHaveNoLength() {
        let text = """
            protocol A {
                func f() throws(Errno) -> Int
                init(_ x: Int)
            }
            struct B {
                let g = A.init(1)
                func h() { if x { y } }
            }
            """
        #expect(Lengths.functions(Code(text)).map(\.start) == [7])
        #expect(Lengths.functions(Code(text)).map(\.lines) == [1])
    }

    @Test func importsAreHeldToTheList() {
        let allowed = ["Bytes", "Time"]
        #expect(Imports.check(source("internal import Bytes\npackage import Time"), allowed: allowed).isEmpty)
        #expect(Imports.check(source("import Bytes"), allowed: allowed).count == 1)
        #expect(Imports.check(source("public import Bytes"), allowed: allowed).count == 1)
        #expect(Imports.check(source("internal import Posix"), allowed: allowed).count == 1)
        #expect(Imports.check(source("internal import struct Posix.Errno"), allowed: allowed).count == 1)
        #expect(Imports.check(source("// internal import Posix"), allowed: allowed).isEmpty)
        #expect(Imports.check(source("internal import Glibc"), allowed: ["Glibc"]).count == 1)
        #expect(Imports.check(source("internal import CCurl"), allowed: ["CCurl"]).count == 1)
        #expect(Imports.check(source("internal import Foundation"), allowed: ["Foundation"]).count == 1)
        #expect(Imports.checkTest(source("import Dispatch")).count == 1)
        #expect(Imports.checkTest(source("@testable import Queue\nimport Glibc")).isEmpty)
    }

    @Test func aboutIsReadAndComparedWithTheManifest() {
        func allowed(_ text: String) -> [String]? { Imports.allowed(by: source(text, "Sources/Queue/About.swift")) }
        #expect(allowed("// Queue: x.\n//\n// May import: Bytes,\n// Time.\n") == ["Bytes", "Time"])
        #expect(allowed("// Queue: x.\n//\n// May import: nothing.\n") == [])
        #expect(allowed("// Other: x.\n//\n// May import: Bytes.\n") == nil)
        #expect(allowed("// Queue: x.\n") == nil)
        #expect(Imports.checkManifest("Queue", allowed: ["A", "Glibc"], dependencies: ["A"]).isEmpty)
        #expect(Imports.checkManifest("Queue", allowed: ["A"], dependencies: ["A", "B"]).count == 1)
        #expect(Imports.checkManifest("Queue", allowed: ["A", "B"], dependencies: ["A"]).count == 1)
    }

    @Test func theManifestIsRead() {
        let manifest = Manifest(
            """
            func module(_ name: String, _ dependencies: [String]) -> Target { .target(name: name) }
            let package = Package(name: "p", products: [.executable(name: "d", targets: ["d"])], targets: [
                .target(name: "C"), .systemLibrary(name: "L", pkgConfig: "libl", providers: [.apt(["l-dev"])]),
                module("A", ["B", // not "X"
                    "C"], settings: strict), module("B", []),
                .executableTarget(name: "d", dependencies: ["A"]), tests("ATests", ["A"]),
                .executableTarget(name: "f", dependencies: ["A"], path: "Tests/Fuzzer"),
            ])
            """)
        #expect(manifest.modules == ["A": ["B", "C"], "B": [], "d": ["A"]])
        #expect(manifest.others == ["C", "L"])
        #expect(manifest.tests == ["ATests", "Fuzzer"])
    }

    @Test func strayFilesAndSilentModulesAreFound() {
        let manifest = Manifest("module(\"A\", []), tests(\"ATests\", [])")
        func check(_ more: String...) -> [String] {
            Layout.check(paths: ["Package.swift", "Sources/A/About.swift"] + more, manifest: manifest).map(\.path)
        }
        #expect(check("Sources/A/B/C.swift", "Tests/ATests/D.swift").isEmpty)
        #expect(check("Sources/B/C.swift") == ["Sources/B/C.swift"])
        #expect(check("Sources/C.swift") == ["Sources/C.swift"])
        #expect(check("Tests/BTests/C.swift") == ["Tests/BTests/C.swift"])
        #expect(check("Benchmarks/C.swift") == ["Benchmarks/C.swift"])
        #expect(Layout.check(paths: [], manifest: manifest).map(\.path) == ["Sources/A"])
    }

    @Test func aMissingStepIsFound() {
        #expect(Layout.missingSteps { _ in true }.isEmpty)
        #expect(Layout.missingSteps { $0 != "Sources/Gates/Gates.swift" }.count == 2)
    }
}

import Bytes
import JSON
import Posix
import Testing

@testable import ControlClient

struct ConfigCommandTests {
    /// Runs `body` with the path of a configuration that holds `text`, and of a drop-in beside it.
    private func withConfiguration(_ text: String, _ dropIn: String? = nil, _ body: (String) throws -> Void) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/x.conf"
        func write(_ text: String, to path: String) throws(Errno) {
            let file = try FileDescriptor.open(path, [.readWrite, .create, .exclusive])
            let bytes = Array(text.utf8)
            try file.write(bytes, in: 0..<bytes.count, at: 0)
        }
        try write(text, to: path)
        if let dropIn {
            try FileSystem.makeDirectory(path + ".d", mode: 0o700)
            try write(dropIn, to: path + ".d/10.conf")
        }
        defer {
            try? FileSystem.unlink(path + ".d/10.conf")
            try? FileSystem.removeDirectory(path + ".d")
        }
        try body(path)
    }

    private let broken = """
        [Queue]
        MaxSize=12Q
        MaxSise=1G
        [Destination "a"]
        URL=https://a.example/x
        CheckURL=https://b.example/x
        Timeout=never
        CACertificate=/nowhere/ca.pem

        """

    @Test func allProblemsAreNamedAtOnceWithTheirPlaces() throws {
        try withConfiguration(broken) { path in
            let console = CapturedConsole()
            #expect(console.run("config", "check", path) == 1)
            let lines = console.output.text.split(separator: "\n")
            let places = lines.dropLast().map { $0.dropFirst(path.count + 1).split(separator: " ")[..<2].joined() }
            #expect(places == ["2:9:error:", "3:1:warning:", "6:10:error:", "7:9:error:"])
            #expect(lines.last == "\(path): 3 errors, 1 warning")
            #expect(console.complaints.isEmpty)
        }
    }

    @Test func whatIsCheckedIsTheFileOfTheEnvironmentAndItsDropIns() throws {
        let text = "[Destination \"a\"]\nURL=https://a.example/\nCACertificate=/nowhere/ca.pem\n"
        try withConfiguration(text, "[Queue]\nMaxSise=1G\n") { path in
            let console = CapturedConsole(environment: ["UPLINKD_CONFIG": path])
            #expect(console.run("config", "check", "--json") == 0)
            let report = try JSONValue(parsing: console.output)
            #expect(report["file"]?.string == path && report["errors"]?.integer == 0)
            let problems = try #require(report["problems"]?.array)
            #expect(problems.map { $0["file"]?.string } == [path + ".d/10.conf", path])
            #expect(problems[1]["line"]?.integer == 3 && problems[1]["column"]?.integer == 15)
            #expect(
                problems[1]["message"]?.string == "CACertificate=: /nowhere/ca.pem: ENOENT: No such file or directory")
        }
    }

    @Test func everySettingIsShownWithItsPlaceAndNoSecret() throws {
        let text = """
            [Queue]
            MaxSize=1G
            [Destination "main"]
            URL=https://a.example/x?token=s3cret
            CheckURL=https://a.example/?s3cret
            ExpectHeader=X-Up: s3cret
            Header=X-Api-Key: s3cret
            Header=X-Site: 4711
            Proxy=http://s3cret:s3cret@proxy:3128

            """
        try withConfiguration(text, "[Queue]\nMaxSize=2G\n") { path in
            let console = CapturedConsole()
            #expect(console.run("config", "show", path) == 0)
            let lines = console.output.text.split(separator: "\n").map {
                $0.split(separator: " ").joined(separator: " ")
            }
            #expect(lines.contains("MaxSize=2G \(path).d/10.conf:2"))
            #expect(lines.contains("KeepFree=5% default") && lines.contains("MaxAge= default"))
            #expect(lines.contains("[Destination \"main\"]") && lines.contains("URL=https://a.example/x?… \(path):4"))
            #expect(lines.contains("CheckURL=https://a.example/?… \(path):5"))
            #expect(lines.contains("ExpectHeader=X-Up: ... \(path):6"))
            #expect(lines.contains("Header=X-Api-Key: ... \(path):7") && lines.contains("Header=X-Site: ... \(path):8"))
            #expect(lines.contains("Proxy=http://...@proxy:3128 \(path):9"))
            let json = CapturedConsole()
            #expect(json.run("config", "show", "--json", path) == 0)
            let settings = try #require(try JSONValue(parsing: json.output)["settings"]?.array)
            let header = try #require(settings.first { $0["key"]?.string == "Header" })
            #expect(header["section"]?.string == "Destination" && header["name"]?.string == "main")
            #expect(header["values"]?.array?.count == 2 && header["origin"]?["line"]?.integer == 8)
            #expect(header["origins"]?.array?.map { $0["line"]?.integer } == [7, 8])
            for output in [console.output.text, json.output.text] { #expect(!output.contains("s3cret")) }
        }
    }

    @Test func aConfigurationWithErrorsIsNotShown() throws {
        try withConfiguration(broken) { path in
            let console = CapturedConsole()
            #expect(console.run("config", "show", path) == 1)
            #expect(console.output.isEmpty && console.complaints.text.contains("\(path):2:9: error: MaxSize=:"))
        }
    }
}

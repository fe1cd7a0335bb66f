import Bytes
import Posix
import Testing

@testable import Configuration

/// The files in Config are right, and complete.
struct ShippedFileTests {
    private func lines(of name: String) throws -> [String] {
        var folder = #filePath.split(separator: "/")
        folder.removeLast(3)
        let path = "/" + folder.joined(separator: "/") + "/Config/" + name
        let text = try FileSystem.contents(of: path, limit: 1 << 20).text
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private func parse(_ lines: [String]) -> (configuration: Configuration?, problems: [Problem]) {
        Configuration.parse([.init(file: "f", bytes: Array(lines.joined(separator: "\n").utf8))])
    }

    /// Takes the mark from `#Key=Value` and `#[Section]`; comments for people have a blank behind it.
    private func uncommented(_ line: String) -> String {
        line.hasPrefix("#") && !line.hasPrefix("# ") && line != "#" ? String(line.dropFirst()) : line
    }

    @Test func asShippedItWarnsOnlyThatNothingIsSent() throws {
        let (found, problems) = parse(try lines(of: "uplinkd.conf"))
        #expect(found?.origins.isEmpty == true)
        #expect(problems.map(\.severity) == [.warning])
    }

    @Test func everyLineIsADefault() throws {
        let (found, problems) = parse(try lines(of: "uplinkd.conf").map(uncommented))
        let all = try #require(found)
        #expect(problems.isEmpty, "\(problems)")
        var plain = Configuration()
        plain.destinations = [DestinationSection(name: "main")]
        let changes = Configuration.changes(from: plain, to: all).map(\.description)
        #expect(changes == ["[Destination \"main\"] URL: (none) -> https://collect.example/v1/events"])
    }

    @Test func everyKeyIsShown() throws {
        let shown = Set(
            try lines(of: "uplinkd.conf").map(uncommented).filter { $0.contains("=") && !$0.hasPrefix("#") }
                .map { String($0.prefix { $0 != "=" }) })
        let all =
            IntakeSection.keys.map(\.name) + ControlSection.keys.map(\.name) + QueueSection.keys.map(\.name)
            + ReachabilitySection.keys.map(\.name) + ConsentSection.keys.map(\.name)
            + ConsentSection.Category.keys.map(\.name) + DestinationSection.keys.map(\.name)
        #expect(shown == Set(all))
    }

    @Test(arguments: ["two-collectors.conf", "gateway.conf"])
    func theExamplesAreRight(_ name: String) throws {
        let (found, problems) = parse(try lines(of: "examples/" + name))
        #expect(found != nil)
        #expect(problems.isEmpty, "\(problems)")
    }
}

import Configuration
import Posix
import Testing

struct MergeTests {
    private func parse(_ texts: String...) -> (configuration: Configuration?, problems: [Problem]) {
        Configuration.parse(texts.enumerated().map { .init(file: "f\($0)", bytes: Array($1.utf8)) })
    }

    @Test func theLastAssignmentWinsAndIsRemembered() throws {
        let (found, _) = parse(
            "[Queue]\nMaxSize=1G\nMaxSize=2G\n", "[Queue]\n MaxSize=3G\n", "[Intake]\nSocketMode=0666")
        let all = try #require(found)
        #expect(all.queue.maximumBytes == 3 << 30)
        #expect(all.origins[SettingName(section: "Queue", key: "MaxSize")]?.last?.description == "f1:2:10")
    }

    @Test func anEmptyAssignmentBringsTheDefaultBack() throws {
        let all = try #require(parse("[Queue]\nMaxSize=1G\n", "[Queue]\nMaxSize=\n").configuration)
        #expect(all.queue.maximumBytes == 512 << 20)
        #expect(all.origins.isEmpty)
    }

    @Test func sectionsOfOneNameAreOne() throws {
        let (found, problems) = parse(
            "[Destination \"b\"]\nURL=https://b.example/\n[Destination \"a\"]\nURL=https://a.example/\n",
            "[Destination \"b\"]\nTimeout=5s\n")
        let all = try #require(found, "\(problems)")
        #expect(all.destinations.map(\.name) == ["b", "a"])
        #expect(all.destinations[0].timeout == .seconds(5))
    }

    @Test func aSectionEndsWithItsFile() {
        #expect(parse("[Queue]\n", "MaxSize=1G").problems.contains { $0.description.hasPrefix("f1:1:1: error: ") })
    }

    @Test func aDestinationNeedsAURL() {
        let message = "error: destination a has no URL="
        #expect(problems("[Destination \"a\"]\n") == ["f:1:2: " + message])
        #expect(problems("[Destination \"a\"]\nURL=https://a.example/\nURL=\n") == ["f:1:2: " + message])
        #expect(problems("[Destination \"a\"]\nURL=x\n[Destination \"b\"]\n").count == 2)
    }

    @Test func atMostSixteenDestinations() {
        let many = (1...17).map { "[Destination \"d\($0)\"]\nURL=https://a.example/\n" }.joined()
        #expect(problems(many) == ["f:33:2: error: more than 16 destinations"])
    }

    @Test func noDestinationIsAWarning() throws {
        let (found, problems) = parse("")
        #expect(found != nil)
        #expect(
            problems.map(\.description)
                == ["f0:1:1: warning: there is no [Destination \"NAME\"]: events are kept, and sent nowhere"])
    }

    @Test func consentIsRead() throws {
        let section = try configuration(
            "[Consent]\nDefault=hold\n[Consent \"ads\"]\nState=deny\n[Consent \"b\"]\nState=\n"
        ).consent
        #expect(section.fallback == .hold)
        #expect(section.categories.map(\.name) == ["ads", "b"] && section.categories.map(\.state) == [.deny, nil])
        let many = (1...65).map { "[Consent \"c\($0)\"]\nState=hold\n" }.joined()
        #expect(problems(many) == ["f:129:2: error: more than 64 consent categories"])
        #expect(problems("[Consent \"ads\"]\nState=maybe\n").count == 1)
    }

    @Test(arguments: [
        "[Queue]\nMaxAge=", "[Queue]\nWhenFull=reject", "[Queue]\nCommitDelay=0", "[Queue]\nCommitDelay=0s",
        "[Reachability]\nInterfaceType=", "[Consent]\nDefault=allow", "[Consent \"ads\"]\nState=",
    ])
    func itsDefaultsAreTaken(_ text: String) {
        #expect(problems(text).isEmpty)
    }

    /// Each pair differs in secrets alone.
    @Test(arguments: [
        ("URL=https://a.example/x?token=s3cret", "URL=https://a.example/x?token=0ther", "URL: changed"),
        ("URL=https://a.example", "URL=https://a.example?s3cret", "URL: https://a.example -> https://a.example?…"),
        ("CheckURL=https://a.example/?k=s3cret", "CheckURL=https://a.example/?k=0ther", "CheckURL: changed"),
        ("ExpectHeader=X-Up: s3cret", "ExpectHeader=X-Up: 0ther", "ExpectHeader: changed"),
        ("Proxy=http://s3cret:a@p:1", "Proxy=http://0ther:a@p:1", "Proxy: changed"),
    ])
    func aChangeOfASecretIsNamedWithoutIt(_ before: String, _ after: String, _ change: String) throws {
        let base = "[Destination \"a\"]\nURL=https://a.example/\n"
        let changes = Configuration.changes(from: try configuration(base + before), to: try configuration(base + after))
        #expect(changes.map(\.description) == ["[Destination \"a\"] \(change)"])
    }

    @Test(arguments: [
        "URL=ftp://u:s3cret@a/", "URL=https://a:s3cret/", "URL=https://s3cret$/", "URL=https://[s3cret]/",
        "URL=https://u:s3cret@a/", "URL=https://1.2.s3cret.4/", "CheckURL=s3cret",
        "Header=Authorization Bearer s3cret", "Header=s3cret", "Header=Content-Length: s3cret",
        "Header=s3cret s3cret: s3cret", "ExpectHeader=X Up s3cret",
        "Header=X: " + String(repeating: "s3cret", count: 1_000), "TokenFile=s3cret", "Credential=/s3cret",
        "CloudEventsSource=https://u:s3cret@x/ y", "Bearer s3cret", "s3cret==",
    ])
    func noProblemQuotesASecret(_ line: String) {
        let found = problems("[Destination \"a\"]\nURL=https://a.example/\n\(line)\n")
        #expect(found.count == 1 && found[0].hasPrefix("f:3:") && !found[0].contains("s3cret"), "\(found)")
    }

    @Test func changesAreNamed() throws {
        let old = try configuration(
            "[Queue]\nMaxSize=1G\n[Destination \"a\"]\nURL=https://a.example/\nHeader=X-Key: s3cret\n"
                + "[Destination \"b\"]\nURL=https://b.example/\n")
        let new = try configuration(
            "[Queue]\nMaxSize=2G\n[Destination \"a\"]\nURL=https://a.example/\nHeader=X-Key: 0ther\nTimeout=1min\n"
                + "[Destination \"c\"]\nURL=https://c.example/\n")
        #expect(
            Configuration.changes(from: old, to: new).map(\.description) == [
                "[Queue] MaxSize: 1G -> 2G (needs a restart)",
                "[Destination \"a\"] Header: changed",
                "[Destination \"a\"] Timeout: 30s -> 1min",
                "destination b removed",
                "destination c added",
            ])
        #expect(Configuration.changes(from: old, to: old).isEmpty)
    }

    @Test func whatWaitsForARestartIsComparedWithTheStart() throws {
        let started = try configuration("[Queue]\nMaxSize=512M\n[Consent]\nDefault=allow\n")
        let read = try configuration("[Queue]\nMaxSize=1G\n[Consent]\nDefault=hold\n")
        func changes(_ old: Configuration, _ new: Configuration) -> [String] {
            Configuration.changes(from: old, startedWith: started, to: new).map(\.description)
        }
        let pending = "[Queue] MaxSize: 512M -> 1G (needs a restart)"
        #expect(changes(started, read) == ["[Consent] Default: allow -> hold", pending])
        #expect(changes(read, read) == [pending], "it waits still")
        #expect(changes(read, started) == ["[Consent] Default: hold -> allow"], "nothing waits any more")
    }
}

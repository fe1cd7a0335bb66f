import Configuration
import Testing
import Time

/// The configuration of a text that must be right.
func configuration(_ text: String) throws -> Configuration {
    let (configuration, problems) = Configuration.parse([.init(file: "f", bytes: Array(text.utf8))])
    return try #require(configuration, "\(problems)")
}

/// The one destination of lines that must be right.
func destination(_ lines: String) throws -> DestinationSection {
    let text = "[Destination \"main\"]\nURL=https://collect.example/v1\n" + lines
    return try #require(try configuration(text).destinations.first)
}

struct ValueTests {
    @Test func theDefaultsAreThoseOfTheInterface() throws {
        let all = try configuration("")
        #expect(all.intake.socket == "/run/uplinkd/events.sock")
        #expect(all.intake.socketMode == 0o660 && all.intake.socketGroup == nil)
        #expect(all.intake.maximumEventBytes == 262_144 && all.intake.maximumRequestBytes == 1_048_576)
        #expect(all.intake.maximumConnections == 1_024 && all.intake.maximumConnectionsPerUser == 256)
        #expect(all.intake.idleTimeout == .seconds(300))
        #expect(all.control.socket == "/run/uplinkd/control.sock")
        #expect(all.queue.directory == "/var/lib/uplinkd" && all.queue.maximumBytes == 536_870_912)
        #expect(all.queue.keepFree == .percent(5) && all.queue.block == .automatic)
        #expect(all.reachability.check && all.reachability.checkInterval == .seconds(30))
        let one = try destination("")
        #expect(one.name == "main" && one.format == .json && one.compression == .gzip(level: 1))
        #expect(one.batchMaximumEvents == 500 && one.batchMaximumBytes == 1_048_576)
        #expect(
            one.enrichWith.map(\.rawValue).joined(separator: " ")
                == "was_queued queue_reason network_connection_type event_id accepted_at")
        #expect(one.connectTimeout == .seconds(10) && one.timeout == .seconds(30))
        #expect(one.retryMinimum == .seconds(1) && one.retryMaximum == .seconds(300))
        #expect(one.flushSpread == .automatic && !one.plainHTTP)
    }

    @Test(arguments: [
        ("1M", 1 << 20), ("512M", 512 << 20), ("1.5G", 3 << 29), ("2T", 2 << 40), ("1048577", 1_048_577),
        ("2097152B", 2 << 20), ("2048K", 2 << 20),
    ])
    func sizes(_ text: String, _ bytes: Int) throws {
        #expect(try configuration("[Queue]\nMaxSize=\(text)").queue.maximumBytes == bytes)
    }

    @Test(arguments: [
        "0", "-1M", "1023K", "512m", "512MB", "1.5", "1..5G", "1.G", ".5G", "+5M", "9999999999999T", "1 M", "M",
        "\u{665}M",
        "128T",
    ])
    func notSizes(_ text: String) {
        #expect(problems("[Queue]\nMaxSize=\(text)").count == 1, "\(text)")
    }

    @Test(arguments: [
        ("30s", 30_000), ("30", 30_000), ("5min", 300_000), ("7d", 604_800_000), ("250ms", 250),
        ("1h 30min", 5_400_000),
        ("1h30m", 5_400_000), ("1.5s", 1_500), ("90 sec", 90_000), ("200000us", 200),
    ])
    func durations(_ text: String, _ milliseconds: Int64) throws {
        #expect(try configuration("[Intake]\nIdleTimeout=\(text)").intake.idleTimeout.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "0", "-5s", "5 parsecs", "s", "1e3s", "99999999999999999999s", "8d", "1s,", "1s # one second", "1h -5min",
    ])
    func notDurations(_ text: String) {
        #expect(problems("[Intake]\nIdleTimeout=\(text)").count == 1, "\(text)")
    }

    @Test func aCommentBehindAValueIsExplained() {
        #expect(
            problems("[Queue]\nMaxSize=1G   # enough").first?.hasSuffix("; a comment must have a line of its own")
                == true)
    }

    @Test func reservesBlocksModesAndWords() throws {
        #expect(try configuration("[Queue]\nKeepFree=0%").queue.keepFree == .percent(0))
        #expect(try configuration("[Queue]\nKeepFree=100M").queue.keepFree == .bytes(100 << 20))
        #expect(try configuration("[Queue]\nBlock=4K").queue.block == .bytes(4_096))
        #expect(try configuration("[Intake]\nSocketMode=0666").intake.socketMode == 0o666)
        #expect(try configuration("[Reachability]\nCheck=off").reachability.check == false)
        #expect(try configuration("[Queue]\nDirectory=/srv/q//").queue.directory == "/srv/q")
        for bad in [
            "[Queue]\nKeepFree=95%", "[Queue]\nBlock=3K", "[Intake]\nSocketMode=0888", "[Intake]\nSocketMode=rw-rw----",
            "[Reachability]\nCheck=maybe", "[Queue]\nDirectory=var/lib", "[Intake]\nMaxConnections=0",
            "[Intake]\nSocket=/\(String(repeating: "x", count: 107))", "[Intake]\nMaxRequestSize=5M",
        ] {
            #expect(problems(bad).count == 1, "\(bad)")
        }
    }

    @Test func destinationValues() throws {
        #expect(try destination("Compression=none").compression == .none)
        #expect(try destination("Compression=gzip:6").compression == .gzip(level: 6))
        #expect(try destination("FlushSpread=0").flushSpread == .limit(.zero))
        #expect(try destination("EnrichWith=event_id was_queued").enrichWith == [.eventID, .wasQueued])
        #expect(try destination("EnrichWith=").enrichWith.isEmpty)
        #expect(try destination("Credential=..token").credential == "..token")
        #expect(try destination("ExpectHeader=X-Up: yes").expectHeader?.value == "yes")
        #expect(try destination("ExpectHeader=X-Up").expectHeader?.name == "X-Up")
        let events = try destination(
            "Format=cloudevents\nCloudEventsSource=urn:till:7?a#b\nCloudEventsType=de.x sale ü")
        #expect(events.cloudEventsSource == "urn:till:7?a#b" && events.cloudEventsType == "de.x sale ü")
        let some = try destination("NetworkTypes=bulk:wifi,vpn unknown urgent:cellular ethernet").networkTypes
        #expect(some.map(\.lane) == [nil, "bulk", "urgent"])
        #expect(some.map(\.types) == [["unknown", "ethernet"], ["wifi", "vpn"], ["cellular"]])
        #expect(try destination("NetworkTypes=wifi\nNetworkTypes=").networkTypes.isEmpty)
        let both = try destination("Header=A: 1\nHeader=B:2:3")
        #expect(both.headers.map { "\($0.name)=\($0.value)" } == ["A=1", "B=2:3"])
        #expect(try destination("Header=A: 1\nHeader=\nHeader=C: 3").headers.map(\.name) == ["C"])
    }

    @Test func aBlankBehindACommaIsNamed() {
        let text = "[Destination \"main\"]\nURL=https://collect.example/v1\nNetworkTypes=wifi, ethernet"
        let message = "a type is missing: write no blank beside a comma, as in wifi,ethernet"
        let found = problems(text)
        #expect(found.count == 1 && found[0].contains(":3:19: error: ") && found[0].contains(message), "\(found)")
    }

    @Test(arguments: [
        "NetworkTypes=wlan", "NetworkTypes=none", "NetworkTypes=bulk:", "NetworkTypes=ads:wifi",
        "NetworkTypes=bulk:wifi bulk:vpn", "NetworkTypes=wifi,,vpn",
        "Compression=zstd", "Compression=gzip:10", "Compression=gzip:+5", "EnrichWith=event_id event_id",
        "EnrichWith=event-id", "Header=A",
        "Header=A B: 1", "Header=Content-Length: 5", "BatchMaxEvents=0",
        "BatchMaxEvents=+5", "Format=xml",
        "RetryMin=10min", "Format=cloudevents", "Format=cloudevents\nCloudEventsSource=/a", "ClientKey=/k",
        "CloudEventsSource=till 7", "CloudEventsSource=<a>", "CloudEventsSource=ü",
        "TokenFile=token",
        "Credential=../tok", "Credential=/etc/passwd", "Credential=a/b", "Credential=..", "Credential=.",
        "Header=Authorization: x\nTokenFile=/t", "PlainHTTP=yes", "CheckURL=http://other.example/",
    ])
    func badDestinationValues(_ line: String) {
        let text = "[Destination \"main\"]\nURL=https://collect.example/v1\n" + line
        let found = problems(text)
        #expect(found.count == 1 && found[0].contains(": error: "), "\(line): \(found)")
    }

    @Test(arguments: [
        ("https://a.example/v1", "https://A.example:443/health", true),
        ("https://a.example/v1", "https://b.example/v1", false),
        ("https://a.example/v1", "https://a.example:444/v1", false),
        ("http://localhost/v1", "https://localhost:80/v1", false),
        ("http+unix://%2Frun%2Fa.sock/v1", "http+unix://%2Frun%2Fa.sock/health", true),
        ("http+unix://%2Frun%2Fa.sock/v1", "http+unix://%2Frun%2Fb.sock/v1", false),
    ])
    func aCheckGoesToTheDestination(_ url: String, _ check: String, _ isTaken: Bool) {
        let found = problems("[Destination \"main\"]\nURL=\(url)\nCheckURL=\(check)")
        #expect(found.count == (isTaken ? 0 : 1), "\(found)")
        #expect(found.allSatisfy { $0.contains(":3:10: error: CheckURL=: ") }, "\(found)")
    }
}

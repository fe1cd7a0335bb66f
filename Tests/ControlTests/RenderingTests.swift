import Bytes
import Control
import JSON
import Testing
import Time

@testable import ControlClient

struct RenderingTests {
    private func screen(_ report: StatusReport, usesColour: Bool = false) throws -> String {
        let status = try #require(StatusDocument(report.json))
        return StatusScreen(status, now: WallTime(milliseconds: 1_795_849_520_000), usesColour: usesColour).text
    }

    @Test func theScreenTellsEverything() throws {
        let expected = """
            uplinkd 0.1.0: running for 12 s

            collector: reachable for 41 s
              Next     what is accepted is sent at once
              Waiting  nothing
              Sent     12,345 events, the last 20 s ago
              Lost     nothing

            backup: no-path
              Why      this machine has no route to it (no-route): no route to 192.0.2.1
              Next     it is tried as soon as there is a way; until then nothing is sent
              Waiting  12 events, the oldest for 1 s
              Sent     nothing yet
              Lost     nothing

            This machine
              Network  wifi for 41 s
              Queue    1 MiB of 512 MiB (0 %); events: normal 12
              Room     for 9 d if nothing leaves and events come as in the last day
              Storage  ok; last sync took 1.2 ms
              Intake   12,345 events accepted since the start, 2 requests or lines refused, \
            1 repeated; 4 clients now
              Consent  analytics on hold: no event of it waits; to let them leave: \
            uplinkctl consent set analytics allow

            """
        #expect(try screen(.example) == expected)
    }

    @Test func whatNeedsAPersonIsSaidAndHostileTextsAreHarmless() throws {
        let text = try screen(.held)
        let expected = """
            Needs a person:
              collector is held (unauthorized): answer 401: \
            no\\u001b]0;owned\\u0007 \\u009b31m\\u000aentry "\\\\u202e: location http://x/\\u000d\\u000a
              collector has 2 dead letters

            """
        #expect(text.hasSuffix(expected))
        #expect(text.contains("\ncollector: held; reachable for 41 s\n  Why      it does not accept the token, or who"))
        #expect(text.contains("\n  Error    answer 401: no\\u001b"))
        #expect(text.contains("\n  To do    have this machine let in, or give it a token by TokenFile= or"))
        #expect(
            text.contains("\n  Dead     2 events that it refused for good are kept apart: uplinkctl dead ls --dest"))
        #expect(isHarmless(text))
        let fields = StatusReport.held.json
        #expect(isHarmless(printableJSON(fields).text))
        #expect(try JSONValue(parsing: printableJSON(fields)) == JSONValue(parsing: fields))
    }

    @Test func whyItWaitsIsSaidOnce() throws {
        var report = StatusReport.example
        report.destinations[0].reasonDetail = "the rest is spread after the outage"
        report.destinations[1].state = "unreachable"
        report.destinations[1].reason = "refused"
        report.destinations[1].reasonDetail = "nobody listens"
        report.destinations[1].lastError = .init(status: nil, detail: "nobody listens", location: nil, at: nil)
        let text = try screen(report)
        #expect(text.contains("\n  Why      the rest is spread after the outage\n"))
        #expect(text.contains("\n  Why      nothing listens at its address (refused)\n  Error    nobody listens\n"))
        #expect(text.contains("\n  Next     it is tried again in 10 s; 3 tries without success so far\n"))
    }

    @Test func aRemovedDestinationIsExplainedAndLossesAreCounted() throws {
        var report = StatusReport.held
        report.destinations[1].flags = [.removed]
        report.destinations[1].ledger.quarantined = 3
        report.destinations[1].ledger.evicted = 1_000
        report.destinations[1].ledger.expired = 2
        report.destinations[1].ledger.purged = 1
        let text = try screen(report)
        #expect(text.contains("\nbackup: removed from the configuration\n  Why      its events, and all new ones, are"))
        #expect(text.contains("\n  To do    put its section back, or: uplinkctl destination forget backup, or: "))
        #expect(text.contains("or: uplinkctl destination rename backup NEW\n  Waiting"))
        #expect(text.contains("\n  backup is no longer configured, and 12 events are kept for it: put its"))
        #expect(text.contains("\n  Given up 2 expired, 1 purged by an operator\n"))
        #expect(text.contains("\n  Lost     1,000 evicted to make room, 3 damaged on disk\n"))
    }

    @Test func anErrorThatIsOverIsNotShown() throws {
        var report = StatusReport.example
        let reached = try #require(report.destinations[0].since)
        func failed(_ milliseconds: Int64) -> DestinationReport.Failure {
            .init(
                status: nil, detail: "nobody listens", location: nil,
                at: WallTime(milliseconds: reached.milliseconds + milliseconds))
        }
        report.destinations[0].flags = [.paused]
        report.destinations[0].lastError = failed(-1_000)
        #expect(try !screen(report).contains("Error"))
        report.destinations[0].attempts = 2
        #expect(try !screen(report).contains("Error"), "it was reached since")
        report.destinations[0].lastError = failed(1_000)
        #expect(try screen(report).contains("\n  Error    nobody listens"))
    }

    @Test func whatIsHeldForConsentIsCountedAndTheWayOutIsNamed() throws {
        var report = StatusReport.example
        report.consent = ["ads": "hold", "crash": "deny", "use": "allow"]
        report.queue.logs["consent-ads"] = QueueReport.Log(events: 7, bytes: 1)
        report.destinations = [report.destinations[0]]
        report.destinations[0].reason = "consent"
        report.destinations[0].ledger.queued = 7
        report.destinations[0].oldestAge = .seconds(3_600)
        let text = try screen(report)
        #expect(text.contains("\n  Why      what waits has no consent to leave (consent)\n"))
        #expect(text.contains("\n  Next     what may leave is sent at once; the rest waits\n"))
        #expect(text.contains("\n  Waiting  7 events, the oldest for 1 h\n"))
        #expect(
            text.contains(
                "\n  Consent  ads on hold: 7 events wait until: uplinkctl consent set ads allow\n"
                    + "  Consent  crash denied: its events are refused\n"))
        #expect(!text.contains("Consent  use"))
        #expect(!text.contains("Needs a person"))
    }

    @Test func aFileThatCannotBeUsedIsNamedAlsoWhileNothingWaits() throws {
        var report = StatusReport.example
        report.destinations[0].ledger.queued = 0
        report.destinations[0].fileFault = "/ca\u{1B}.pem cannot be used"
        report.destinations[0].flags = [.throttled]
        report.destinations[0].lastError = .init(
            status: nil, detail: "/ca\u{1B}.pem cannot be used", location: nil, at: nil)
        let text = try screen(report)
        #expect(text.contains("\n  To do    correct the file, then: uplinkctl reload\n") && !text.contains("Error"))
        #expect(text.contains("\n  Why      /ca\\u001b.pem cannot be used\n"))
        #expect(text.hasSuffix("\nNeeds a person:\n  collector: /ca\\u001b.pem cannot be used\n"))
    }

    /// What mends a refusal depends on who refuses what.
    @Test func theWayOutOfAHoldFitsTheConfiguration() throws {
        var report = StatusReport.held
        for (token, why, cure) in [
            (.good, "it does not accept the token", "put a token that it accepts into TokenFile=, then: uplinkctl"),
            (.none, "it does not accept the token", "have this machine let in, or give it a token by TokenFile="),
            (.missing, "its token cannot be used, and", "mend the file of its token, then: uplinkctl reload\n"),
        ] as [(DestinationReport.Token, String, String)] {
            report.destinations[0].token = token
            let text = try screen(report)
            #expect(text.contains("\n  Why      \(why)") && text.contains("\n  To do    \(cure)"), "\(token): \(text)")
        }
        report.destinations[0].reasonDetail = "/t cannot be read"
        let text = try screen(report)
        #expect(text.contains("nothing is sent without (unauthorized): /t cannot be read\n"))
        #expect(text.contains("\n  collector is held (unauthorized): /t cannot be read\n"))
        report.destinations[0].reasonDetail = nil
        for reason in ["not-found", "redirect", "proxy"] {
            report.destinations[0].reason = reason
            #expect(try screen(report).contains(", then: uplinkctl reload\n"))
        }
    }

    /// A hotspot shows wrong certificates for minutes; one that is refused for longer does not heal by itself.
    @Test func aCertificateThatIsRefusedForAnHourNeedsAPerson() throws {
        var report = StatusReport.example
        let now = 1_795_849_520_000 as Int64
        report.destinations[0].state = "unreachable"
        report.destinations[0].reason = "tls"
        report.destinations[0].attempts = 9
        report.destinations[0].lastError = .init(status: nil, detail: "self-signed", location: nil, at: nil)
        let cure = "\n  To do    see what is wrong with it, and what mends it: uplinkctl probe collector\n"
        #expect(try screen(report).contains(cure) && !screen(report).contains("Needs a person"))
        report.destinations[0].certificateRefusedSince = WallTime(milliseconds: now - 3_599_000)
        #expect(try screen(report).contains(cure) && !screen(report).contains("Needs a person"))
        report.destinations[0].certificateRefusedSince = WallTime(milliseconds: now - 3_600_000)
        let reason = "\nNeeds a person:\n  collector: its certificate has been refused for 1 h: self-signed\n"
        #expect(try screen(report).hasSuffix(reason))
        report.destinations[0].state = "no-path"
        report.destinations[0].reason = "no-route"
        #expect(try !screen(report).contains("Needs a person"), "being offline needs none")
    }

    /// Every reason that a daemon may give, but `none` and those of a version to come.
    @Test(arguments: [
        "start", "no-route", "link", "blackhole", "prohibited", "address", "dns", "refused", "timeout", "reset", "tls",
        "proxy", "portal", "unauthorized", "not-found", "redirect", "refusing", "rejected", "throttled", "operator",
        "storage", "policy", "consent", "shutdown",
    ])
    func everyReasonIsSaidInWords(_ reason: String) { #expect(ReasonWords.meaning(of: reason) != nil) }

    @Test func colourOnlyAddsToTheWords() throws {
        let plain = try screen(.held)
        let coloured = try screen(.held, usesColour: true)
        #expect(coloured != plain)
        #expect(coloured.replacing(/\u{1B}\[[0-9]+m/, with: "") == plain)
    }

    @Test(
        arguments: [
            ([], "1 MiB of 512 MiB (0 %); events"), (["bulk"], "takes no bulk events; events"),
            (["bulk", "normal"], "takes no bulk and normal events; events"),
            (["bulk", "normal", "urgent"], "takes no bulk, normal and urgent events; events"),
        ] as [([String], String)])
    func aFullQueueNamesTheLanesThatItRefuses(_ lanes: [String], _ words: String) throws {
        var report = StatusReport.example
        report.queue.refused = lanes
        #expect(try screen(report).contains(words))
    }

    @Test func whatTheFileSystemHasNotTheRoomForIsNoPartOfTheWhole() throws {
        var report = StatusReport.example
        report.queue.boundBytes = 2 << 20
        #expect(try screen(report).contains("1 MiB of 2 MiB, all that the file system has room for (50 %);"))
    }

    @Test(
        arguments: [
            (QueueReport.Bound.maximumSize, 0, "raise MaxSize=, which is 512 MiB, then: systemctl restart uplinkd;"),
            (.fileSystem, 0, "free space on the file system of /var/lib/uplinkd, or see why events do not leave\n"),
            (.fileSystem, 3 << 20, "; or lower KeepFree=, which keeps 3 MiB free, then: systemctl restart uplinkd\n"),
            (.files, 0, "remove files from the file system of /var/lib/uplinkd"),
            (.quota, 0, "raise the quota that /var/lib/uplinkd falls under"),
        ] as [(QueueReport.Bound, UInt64, String)])
    func aFullQueueSaysWhatToDo(_ bound: QueueReport.Bound, _ kept: UInt64, _ words: String) throws {
        var report = StatusReport.example
        (report.queue.bound, report.queue.keptFreeBytes) = (bound, kept)
        report.queue.refused = ["bulk"]
        #expect(try !screen(report).contains("To do"), "until normal events are refused")
        report.queue.refused = ["bulk", "normal"]
        report.storage = StorageReport(state: .full, lastSync: nil, detail: "no room")
        let text = try screen(report)
        #expect(text.split(separator: "  To do    ").last?.contains(words) ?? false, "\(text)")
        #expect(text.hasSuffix("\nNeeds a person:\n  the queue takes no bulk and normal events: no room\n"))
    }

    @Test func withoutDestinationsItSaysThatEventsAreKept() throws {
        var report = StatusReport.example
        report.destinations = []
        report.isClockSynchronised = false
        let text = try screen(report)
        #expect(text.contains("\nNo destination is configured: events are kept, and sent nowhere.\n  To do    name a"))
        #expect(text.contains("  Clock    not synchronised"))
    }

    @Test(arguments: ["", "[]", "nonsense", "{", "\u{1B}"])
    func whatIsNoStatusIsNotShown(_ body: String) { #expect(StatusDocument(Array(body.utf8)) == nil) }

    @Test(arguments: [
        "{}", #"{"destinations":[1,null,{}],"queue":[],"consent":{"a":1},"uptime_s":1e300,"network":null}"#,
        #"{"destinations":[{"since":"yesterday","oldest_age_s":-5,"ledger":{"queued":-1},"last_error":{"at":1}}]}"#,
        #"{"queue":{"bytes":9223372036854775807,"limit_bytes":1},"storage":{"last_sync_us":-9223372036854775808}}"#,
    ])
    func aStrangeStatusIsShownAsFarAsItGoes(_ body: String) throws {
        let status = try #require(StatusDocument(Array(body.utf8)))
        #expect(isHarmless(StatusScreen(status, now: WallTime(milliseconds: 0), usesColour: false).text))
    }

    @Test(arguments: [
        (Duration.seconds(-5), "0 s"), (.seconds(59), "59 s"), (.seconds(60), "1 min"), (.seconds(303), "5 min 3 s"),
        (.seconds(7_500), "2 h 5 min"), (.seconds(777_600), "9 d"), (.seconds(90_000), "1 d 1 h"),
    ])
    func durationsHaveTwoUnits(_ span: Duration, _ expected: String) { #expect(Quantity.duration(span) == expected) }

    @Test(
        arguments: [
            (0, "0 B"), (1_023, "1023 B"), (1_024, "1 KiB"), (12_897_484, "12.3 MiB"), (536_870_912, "512 MiB"),
            (Int64.max, "8388608 TiB"),
        ] as [(Int64, String)])
    func sizesAreInPowersOf1024(_ bytes: Int64, _ expected: String) { #expect(Amount.bytes(bytes) == expected) }

    @Test(arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (-1_234_567, "-1,234,567")] as [(Int64, String)])
    func countsAreGrouped(_ count: Int64, _ expected: String) { #expect(Quantity.count(count) == expected) }

    /// Nothing but line feeds could steer a terminal.
    private func isHarmless(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            if scalar == "\n" { return true }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: return false
            default: return true
            }
        }
    }
}

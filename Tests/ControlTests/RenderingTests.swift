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
              Network   wifi for 41 s
              Queue     1 MiB of 512 MiB (0 %); events: normal 12; room for 9 d
              Storage   ok; last sync took 1.2 ms
              Intake    since the start 12,345 accepted, 2 refused, 1 duplicates; now 4 clients
              Consent   analytics hold

            DESTINATION  STATE      FOR   QUEUED  OLDEST  DELIVERED IN ALL  NEXT TRY
            collector    reachable  41 s       0  -                 12,345  -
            backup       no-path    -         12  1 s                    0  in 10 s
              no-route: no route to 192.0.2.1
              3 tries without success; no success yet

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
        #expect(isHarmless(text))
        let fields = StatusReport.held.json
        #expect(isHarmless(printableJSON(fields).text))
        #expect(try JSONValue(parsing: printableJSON(fields)) == JSONValue(parsing: fields))
    }

    @Test func whyItWaitsIsSaidOnce() throws {
        var report = StatusReport.example
        report.destinations[0].reasonDetail = "the rest is spread after the outage"
        report.destinations[1].reason = "refused"
        report.destinations[1].reasonDetail = "nobody listens"
        report.destinations[1].lastError = .init(status: nil, detail: "nobody listens", location: nil, at: nil)
        let text = try screen(report)
        #expect(text.contains("\n  the rest is spread after the outage\n"))
        #expect(text.contains("\n  refused\n"))
        #expect(text.contains("\n  last error: nobody listens\n"))
    }

    @Test func flagsStandBesideTheStateAndARemovedDestinationIsExplained() throws {
        var report = StatusReport.held
        report.destinations[1].flags = [.removed]
        report.destinations[1].ledger.quarantined = 3
        report.destinations[1].nextAttemptAt = WallTime(milliseconds: 1_795_849_520_999)
        let text = try screen(report)
        #expect(text.contains("\ncollector    reachable, held  41 s "))
        #expect(text.contains("\nbackup       removed          -  "))
        #expect(text.contains("\n  no longer configured: its events, and all new ones, are kept for it and take"))
        #expect(text.contains("back, or uplinkctl destination forget backup, or destination rename\n"))
        #expect(text.contains("\n  backup is no longer configured, and 12 events are kept for it: put its"))
        #expect(text.contains("\n  not delivered: 3 quarantined\n"))
        #expect(text.contains("  now\n"))
        #expect(!text.contains("in 0 s"))
    }

    @Test func aFileThatCannotBeUsedIsNamedAlsoWhileNothingWaits() throws {
        var report = StatusReport.example
        report.destinations[0].ledger.queued = 0
        report.destinations[0].fileFault = "/ca\u{1B}.pem cannot be used"
        let text = try screen(report)
        #expect(text.hasSuffix("\nNeeds a person:\n  collector: /ca\\u001b.pem cannot be used\n"))
    }

    @Test func colourOnlyAddsToTheWords() throws {
        let plain = try screen(.held)
        let coloured = try screen(.held, usesColour: true)
        #expect(coloured != plain)
        #expect(coloured.replacing(/\u{1B}\[[0-9]+m/, with: "") == plain)
    }

    @Test(
        arguments: [
            (79, nil), (80, "bulk"), (94, "bulk"), (95, "bulk and normal"), (100, "bulk and normal"),
        ] as [(UInt64, String?)])
    func aQueueThatIsNearlyFullSaysWhatItMayRefuse(_ percent: UInt64, _ lanes: String?) throws {
        var report = StatusReport.example
        (report.queue.bytes, report.queue.limitBytes) = (percent << 20, 100 << 20)
        let sentence = try screen(report).split(separator: "; ").first { $0.hasPrefix("nearly full") }
        #expect(sentence.map(String.init) == lanes.map { "nearly full, new \($0) events may be refused" })
    }

    @Test func withoutDestinationsItSaysThatEventsAreKept() throws {
        var report = StatusReport.example
        report.destinations = []
        report.isClockSynchronised = false
        let text = try screen(report)
        #expect(text.contains("No destination is configured; events are kept.\n"))
        #expect(text.contains("  Clock     not synchronised"))
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
    func sizesAreInPowersOf1024(_ bytes: Int64, _ expected: String) { #expect(Quantity.bytes(bytes) == expected) }

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

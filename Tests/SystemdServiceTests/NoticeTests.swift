import Bytes
import Posix
import Testing

@testable import SystemdService

struct NoticeTests {
    @Test func everyKindHasItsEntryAndIdentifier() {
        for kind in NoticeKind.allCases {
            #expect(kind.rawValue.utf8.count == 32, "\(kind)")
            #expect(Hexadecimal.value(Array(kind.rawValue.utf8.prefix(16))) != nil, "\(kind)")
            #expect(!kind.entry.text.isEmpty && !kind.entry.meaning.isEmpty && !kind.entry.action.isEmpty)
        }
    }

    /// Each `@FIELD@` of the table is a field; a notice made by its function fills all that stand outside brackets.
    @Test(arguments: Self.samples)
    func eachNoticeFillsItsText(_ notice: Notice) {
        #expect(!notice.message.contains("@"), "\(notice.message)")
        #expect(!notice.message.contains("?"), "\(notice.message)")
        #expect(!notice.message.contains("["), "\(notice.message)")
    }

    @Test func thereIsASampleOfEachKind() {
        #expect(Set(Self.samples.map(\.kind)) == Set(NoticeKind.allCases))
    }

    @Test func bracketsGoWithAMissingField() {
        let template = "A @UPLINK_STATE@[, @UPLINK_EVENTS@ events][ at @UPLINK_OFFSET@]."
        #expect(Notice.fill(template, [.state: "x", .events: "5"]) == "A x, 5 events.")
        #expect(Notice.fill(template, [.offset: "7"]) == "A ? at 7.")
    }

    @Test func remoteTextCannotForgeLines() {
        let notice = Notice.destinationHeld(
            "main", reason: "unauthorized", detail: "a\nb\u{1b}[31m\u{202e}\u{9b}\u{2028}")
        #expect(
            notice.message
                == "Destination main is held: unauthorized, a\\x0ab\\x1b[31m\\u{202e}\\x9b\\u{2028}")
        let long = Notice.destinationHeld("main", reason: "x", detail: String(repeating: "\u{e9}", count: 5_000))
        #expect(long.fields[.detail]?.utf8.count ?? 0 <= 2_048)
        #expect(long.fields[.detail]?.hasSuffix("\u{e9}...") == true)
    }

    @Test func aRefusalSaysWhichEventAndWhatTheAnswerWas() {
        let refused = Notice.eventRefused("main", event: "000a-1", status: 422, answer: "no field \"at\"\r\n")
        #expect(
            refused.message
                == "Destination main refused event 000a-1 for good: status 422, no field \"at\"\\x0d\\x0a")
        let short = Notice.eventRefused("main", event: "000a-1", status: 422, answer: "")
        #expect(short.message == "Destination main refused event 000a-1 for good: status 422")
    }

    @Test func statesChooseTheirKind() {
        func kind(_ state: String) -> NoticeKind {
            Notice.destinationChanged("main", from: "verifying", to: state, reason: "none").kind
        }
        #expect(kind("reachable") == .destinationReachable)
        #expect(kind("verifying") == .destinationVerifying)
        #expect(kind("portal") == .destinationPortal)
        #expect(kind("no-path") == .destinationUnreachable)
        #expect(kind("unreachable") == .destinationUnreachable)
    }

    @Test func theJournalsFields() {
        let notice = Notice.destinationChanged(
            "main", from: "reachable", to: "no-path", reason: "no-route", detail: "eth0 is down", events: 0)
        #expect(
            LogWriter.fields(notice) == [
                "MESSAGE=Destination main is no-path: no-route, eth0 is down",
                "PRIORITY=5",
                "MESSAGE_ID=\(NoticeKind.destinationUnreachable.rawValue)",
                "SYSLOG_IDENTIFIER=uplinkd",
                "UPLINK_DESTINATION=main",
                "UPLINK_STATE=no-path",
                "UPLINK_PREVIOUS_STATE=reachable",
                "UPLINK_REASON=no-route",
                "UPLINK_DETAIL=eth0 is down",
            ])
    }

    @Test func linesOfStandardError() {
        let notice = Notice.stopping(reason: "SIGTERM")
        #expect(LogWriter.line(notice, withPriority: false).text == "uplinkd: Stopping: SIGTERM\n")
        #expect(LogWriter.line(notice, withPriority: true).text == "<6>Stopping: SIGTERM\n")
    }

    @Test func oneIsSingular() {
        #expect(Notice.ready(destinations: 1, queued: 1).message == "Ready: 1 destination, 1 event queued")
        #expect(Notice.ready(destinations: 11, queued: 0).message == "Ready: 11 destinations, 0 events queued")
        #expect(Notice.flushFinished("main", events: 1, took: .seconds(1)).message.contains(" 1 event in "))
        #expect(Notice.eventsPurged(1, category: "ads").message == "Purged: 1 event of ads")
        let expired = Notice.eventsExpired(1, log: "bulk", destination: "main").message
        #expect(expired == "1 event of log bulk expired, not acknowledged by destination main")
    }

    @Test func spansAreReadable() {
        #expect(Notice.flushFinished("main", events: 2, took: .milliseconds(7)).message.hasSuffix("in 0.007 s"))
        #expect(Notice.flushFinished("main", events: 2, took: .milliseconds(1_070)).message.hasSuffix("in 1.0 s"))
        let pause = Notice.destinationPaused("main", for: .seconds(5_400))
        #expect(pause.message == "Destination main is paused by an operator for 1h 30min")
        #expect(pause.fields[.seconds] == "5400")
        #expect(Notice.destinationPaused("main", for: nil).message.hasSuffix("by an operator"))
    }

    @Test func atMostEightStrayNamesAreTold() {
        let names = (0..<20).map { "name-\($0)" }
        #expect(Notice.strayFiles([]).isEmpty)
        #expect(Notice.strayFiles(Array(names.prefix(8))).compactMap { $0.fields[.file] } == Array(names.prefix(8)))
        let many = Notice.strayFiles(names)
        #expect(many.count == 9)
        #expect(many[8].message.hasSuffix("left alone: 12 more names"))
    }

    static let samples: [Notice] = [
        .started(version: "1.0", configuration: "/etc/uplinkd/uplinkd.conf"), .ready(destinations: 1, queued: 0),
        .stopping(reason: "SIGTERM"), .stopped(queued: 3), .startFailed("the directory is locked", errno: .wouldBlock),
        .destinationChanged("main", from: "unknown", to: "reachable", reason: "none", events: 5),
        .destinationChanged("main", from: "reachable", to: "unreachable", reason: "timeout"),
        .destinationChanged("main", from: "no-path", to: "verifying", reason: "start"),
        .destinationChanged("main", from: "verifying", to: "portal", reason: "portal"),
        .destinationHeld("main", reason: "not-found"), .destinationReleased("main", events: 7),
        .destinationThrottled("main", status: 503, retryIn: .seconds(5)), .destinationRemoved("main", events: 9),
        .eventRefused("main", event: "000a-1", status: 400, answer: "no"),
        .destinationPaused("main", for: .seconds(60)), .destinationPauseEnded("main"),
        .destinationResumed("main"), .destinationForgotten("old", events: 3), .destinationRenamed("old", to: "new"),
        .lettersRetried(2), .lettersDropped(1),
        .flushFinished("main", events: 1_000, took: .milliseconds(1_250)),
        .networkChanged(from: "wifi", to: "none"), .netlinkUnavailable("EPERM"),
        .storageFailed(.noSpace, file: "normal/1.seg", offset: 4_096), .storageCured(after: .seconds(100)),
        .diskSlow(.seconds(1)), .tornTail(file: "normal/1.seg", bytes: 77),
        .tornTail(file: "normal/1.seg", bytes: 77, sequences: 8...9),
        .eventsQuarantined(log: "normal", file: "1.seg", offset: 5, first: "1", last: "2", events: 2),
        .logMissing(log: "normal"),
        .eventsExpired(3, log: "normal", destination: "main"), .eventsEvicted(1, log: "bulk", destination: "main"),
        .cursorReset(destination: "main", log: "normal", first: 1),
        .lettersAdopted(2, destination: "main", log: "normal"), .recovered(events: 10, took: .milliseconds(20)),
        .strayFiles(["lost+found"])[0], .strayFiles((1...10).map { "\($0)" })[8],
        .consentChanged("ads", from: "allow", to: "hold", cause: "operator"), .consentLost(categories: "ads, b"),
        .eventsPurged(3, category: "ads"),
        .queueFilling(percent: 80, events: 5, bytes: 6), .intakeRefused(reason: "full", detail: "the queue is full"),
        .configurationProblem(isError: false, at: "f:1:2", "unknown key"),
        .configurationProblem(isError: true, at: "f:1:2", "bad value"),
        .reloaded(changes: ["MaxSize: 1G -> 2G"]),
        .reloadRefused(errors: 2, first: "f:1:2: bad value"),
        .fileUnreadable("/etc/token", setting: "TokenFile=", detail: "ENOENT"), .loopStalled(.seconds(2)),
        .clock(isSynchronised: false), .clock(isSynchronised: true), .linesDropped(5),
    ]
}

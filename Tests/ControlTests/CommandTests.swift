import Bytes
import Control
import HTTP1
import HTTPServer
import JSON
import Posix
import Reactor
import Testing

@testable import ControlClient

struct CommandTests {
    // MARK: Watching

    @Test func eachChangeIsALineUntilTheDaemonStops() throws {
        try withDaemon(Script(changes: 2)) { (path, _) throws in
            let console = CapturedConsole()
            #expect(console.run("monitor", "--socket", path) == 0)
            let text = "reachable -> no-path (no-route: no \\u001broute) by kernel link\n"
            let time = "2026-11-28T07:04:38.123Z"
            #expect(console.output.text == "\(time) d0: \(text)\(time) d1: \(text)\(time) daemon: stopping\n")
            #expect(console.complaints.isEmpty)
        }
        try withDaemon(Script(changes: 1, saysGoodbye: false)) { (path, _) throws in
            let console = CapturedConsole()
            #expect(console.run("monitor", "--json", "--socket", path) == 69)
            #expect(console.complaints.text.contains("gone without a word"))
            let change = try JSONValue(parsing: console.output)
            #expect(change["kind"]?.string == "state" && change["to"]?.string == "no-path")
            #expect(change["at"]?.string == "2026-11-28T07:04:38.123Z" && change["cause"]?.string == "kernel link")
        }
    }

    @Test func whatIsNotKnownOfAChangeIsNotSaid() throws {
        var change = Change(.state)
        (change.destination, change.from, change.to, change.reason) = ("d", "unreachable", "reachable", "none")
        var reload = Change(.configuration)
        reload.detail = "nothing changed"
        for (change, line) in [(change, "d: unreachable -> reachable"), (reload, "configuration: nothing changed")] {
            try withDaemon(Script(changes: 1, change: change)) { (path, _) throws in
                let console = CapturedConsole()
                #expect(console.run("monitor", "--socket", path) == 0)
                #expect(console.output.text.hasPrefix("2026-11-28T07:04:38.123Z \(line)\n"))
            }
        }
    }

    @Test func oneTooManyIsToldToTryLater() throws {
        try withDaemon { (path, _) throws in
            let console = CapturedConsole()
            #expect(console.run("monitor", "--socket", path) == 75)
            #expect(console.complaints.text.contains("Too many watch"))
        }
    }

    // MARK: What cannot be undone

    @Test(
        arguments: [
            (["dead", "drop", "--all"], [], false, 2), (["dead", "drop", "1-1"], [], true, 1),
            (["dead", "drop", "--all"], ["n\n"], true, 1), (["dead", "drop", "--all"], ["y", "e", "s\n"], true, 0),
            (["dead", "drop", "--all", "--yes"], [], false, 0), (["destination", "forget", "x"], ["y\n"], false, 2),
            (["destination", "forget", "x"], ["y\n"], true, 0),
            (["destination", "forget", "x", "--yes"], [], false, 0),
        ] as [([String], [String], Bool, Int32)])
    func isAskedForOrNeedsYes(_ words: [String], _ input: [String], _ isInteractive: Bool, _ expected: Int32) throws {
        try withDaemon(Script(answer: .count(3))) { (path, orders) throws in
            let console = CapturedConsole(input: input, isInteractive: isInteractive)
            #expect(console.run(words + ["--socket", path]) == expected)
            #expect(orders.with { $0.count } == (expected == 0 ? 1 : 0))
            #expect(console.output.text.contains("3") == (expected == 0))
            #expect(console.complaints.text.contains("[y/N]") == (isInteractive && !words.contains("--yes")))
            #expect(console.complaints.text.contains("give --yes if it is meant") == (expected == 2))
        }
    }

    // MARK: Where no daemon answers

    @Test(
        arguments: [
            (["status"], 3), (["status", "--check"], 3), (["flush"], 69), (["reload"], 69), (["send"], 69),
        ] as [([String], Int32)])
    func aDaemonThatIsNotThereIsTold(_ arguments: [String], _ expected: Int32) {
        let console = CapturedConsole(
            input: ["{}\n"],
            environment: ["UPLINKCTL_SOCKET": "/nowhere/control.sock", "UPLINKD_SOCKET": "/nowhere/events.sock"])
        #expect(console.run(arguments) == expected)
        let socket = arguments[0] == "send" ? "events" : "control"
        #expect(console.complaints.text.contains("uplinkd does not listen at /nowhere/\(socket).sock"))
    }

    @Test(
        arguments: [
            (ClientError(connecting: "/x", .access), 77), (ClientError(connecting: "/x", .permission), 77),
            (ClientError(connecting: "/x", .noEntry), 69), (ClientError(connecting: "/x", .connectionRefused), 69),
            (ClientError(connecting: "/x", .wouldBlock), 75), (ClientError(connecting: "/x", .noMemory), 1),
            (.timedOut(path: "/x"), 75), (.closed(path: "/x"), 69), (.ended(path: "/x"), 69),
            (.malformed(path: "/x", detail: "y"), 1),
        ] as [(ClientError, Int32)])
    func errorsOfTheConnectionHaveTheirStatus(_ error: ClientError, _ expected: Int32) {
        #expect(error.exitStatus.rawValue == expected)
        #expect(error.message.contains("/x"))
    }

    @Test(
        arguments: [
            (ClientError(connecting: "/x", .noEntry), 3), (.closed(path: "/x"), 3), (.timedOut(path: "/x"), 69),
            (ClientError(connecting: "/x", .access), 77), (ClientError(connecting: "/x", .wouldBlock), 75),
        ] as [(ClientError, Int32)])
    func statusTellsADaemonThatHangsFromOneThatDoesNotRun(_ error: ClientError, _ expected: Int32) {
        #expect(error.exitStatusOfStatus.rawValue == expected)
    }

    @Test func theWrongSocketIsNamed() throws {
        try withDaemon { (path, _) throws in
            let console = CapturedConsole(input: ["{}\n"])
            #expect(console.run("send", "--socket", path) == 1)
            #expect(console.complaints.text.contains("standard input:1: this is the control socket; events go to"))
        }
        let notHere: @Sendable (HTTPExchange) -> Void = { exchange in
            exchange.answer(ProblemDetails(status: 404, type: "not-found", title: "x", detail: "y").response())
        }
        try withServer(notHere) { path in
            for command in ["status", "flush", "reload"] {
                let console = CapturedConsole()
                #expect(console.run(command, "--socket", path) == 1)
                #expect(console.complaints.text.contains("this is the events socket; what operators ask goes to"))
            }
        }
    }

    @Test(
        arguments: [
            ("", 3), ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", 3), ("nonsense\r\n\r\n", 1),
            ("HTTP/1.1 200 OK\r\n\r\n[]", 1), ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", 1),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "2\r\n{}\r\n0\r\n\r\n",
                0
            ),
            ("HTTP/1.0 200 OK\r\n\r\n{}", 0),
        ] as [(String, Int32)])
    func aDaemonThatClosesOrTalksNonsenseIsTold(_ answer: String, _ expected: Int32) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/x.sock"
        let bytes = Array(answer.utf8)
        try withLoop({ loop in
            let listener = try StreamListener(taking: Socket.listenUnix(path), on: loop) { client in
                var request: [UInt8] = []
                while !request.text.hasSuffix("\r\n\r\n"), (try? client.waitReadable(milliseconds: 1_000)) == true {
                    _ = try? client.receive(upTo: 1_024, into: &request)
                }
                _ = try? client.send(bytes, in: bytes.indices)
            }
            return (listener, true)
        }) { _ in
            let console = CapturedConsole()
            #expect(console.run("--socket", path, "status") == expected)
        }
    }

    // MARK: The control socket

    @Test func statusIsShownAndOfflineIsNoError() throws {
        try withDaemon { (path, _) throws in
            let console = CapturedConsole(environment: ["UPLINKCTL_SOCKET": path])
            #expect(console.run("status", "--check") == 0)
            #expect(console.output.text.hasPrefix("uplinkd 0.1.0: running for 12 s\n"))
            #expect(console.output.text.contains("\nbackup: no-path\n"))
            let json = CapturedConsole()
            #expect(json.run("--socket", path, "--json", "status") == 0)
            #expect(json.output == StatusReport.example.json)
        }
    }

    @Test func checkEndsWithFourForWhatNeedsAPerson() throws {
        var dead = StatusReport.example
        dead.destinations[1].ledger.dead = 1
        var failing = StatusReport.example
        failing.storage.state = .failing
        var slow = StatusReport.example
        slow.storage.state = .slow
        var full = StatusReport.example
        full.storage.state = .full
        var faulty = StatusReport.example
        faulty.destinations[1].fileFault = "/ca.pem, named by CACertificate, cannot be used: No such file or directory"
        var removed = StatusReport.example
        removed.destinations[1].flags = [.removed]
        var forgotten = removed
        forgotten.destinations[1].ledger.queued = 0
        let cases: [(StatusReport, Bool, Int32)] = [
            (.held, true, 4), (dead, true, 4), (failing, false, 4), (full, false, 4), (slow, true, 0),
            (slow, false, 4), (faulty, true, 4), (removed, true, 4), (forgotten, true, 0),
        ]
        for (report, isReady, expected) in cases {
            var script = Script()
            script.isReady = isReady
            script.report = report
            try withDaemon(script) { (path, _) throws in
                #expect(CapturedConsole().run("status", "--check", "--socket", path) == expected)
                #expect(CapturedConsole().run("status", "--check", "--json", "--socket", path) == expected)
                #expect(CapturedConsole().run("status", "--socket", path) == 0)
            }
        }
    }

    @Test func flushTriesOneOrAllAndHintsAtSlips() throws {
        try withDaemon { (path, flushed) throws in
            let all = CapturedConsole(environment: ["UPLINKCTL_SOCKET": path])
            #expect(all.run("flush") == 0)
            let lines = [
                "collector has nothing to be sent",
                "backup cannot be tried, there is no path to it (no-route); it is as soon as there is one",
            ]
            #expect(all.output.text == lines.joined(separator: "\n") + "\n")
            #expect(all.run("flush", "backup") == 0)
            #expect(flushed.with { $0 } == ["collector", "backup", "backup"])
            let slip = CapturedConsole(environment: ["UPLINKCTL_SOCKET": path])
            #expect(slip.run("flush", "bakup") == 1)
            #expect(slip.complaints.text == "uplinkctl: no destination is named 'bakup'; did you mean 'backup'?\n")
            #expect(flushed.with { $0.count } == 3)
        }
    }

    @Test func flushSaysWhoIsTried() throws {
        var script = Script()
        script.report.destinations[0].ledger.queued = 1
        script.report.destinations[1].state = "unreachable"
        script.report.destinations[1].flags = [.paused]
        try withDaemon(script) { (path, _) throws in
            let console = CapturedConsole()
            #expect(console.run("flush", "--socket", path) == 0)
            #expect(console.output.text == "collector is tried now\nbackup is not tried, it is paused\n")
        }
        script.report.destinations[0].reason = "policy"
        script.report.destinations[0].reasonDetail = "all waits for wifi; the network is cellular"
        try withDaemon(script) { (path, _) throws in
            let console = CapturedConsole()
            #expect(console.run("flush", "collector", "--socket", path) == 0)
            let why = "all waits for wifi; the network is cellular"
            #expect(console.output.text == "collector is sent only what NetworkTypes= lets leave: \(why)\n")
        }
    }

    @Test func flushNeverPutsAStrangeNameIntoARequest() throws {
        var script = Script()
        script.report.destinations[0].name = "x y\r\nz"
        script.report.destinations[1].flags = [.removed]
        try withDaemon(script) { (path, flushed) throws in
            #expect(CapturedConsole().run("flush", "--socket", path) == 0)
            #expect(flushed.with { $0.isEmpty })
        }
    }

    @Test func reloadTellsTheVerdict() throws {
        var script = Script()
        script.verdict = .taken(
            changed: ["a", "b"], needsRestart: ["[Queue] c (needs a restart)"],
            warnings: ["x.conf:1:1: warning: odd\u{1B}"])
        try withDaemon(script) { (path, _) throws in
            let console = CapturedConsole()
            #expect(console.run("reload", "--socket", path) == 0)
            #expect(
                console.output.text == """
                    changed: a
                    changed: b
                    changed: [Queue] c (needs a restart)
                    what needs a restart is in force after 'systemctl restart uplinkd'

                    """)
            #expect(console.complaints.text == "uplinkctl: x.conf:1:1: warning: odd\\u001b\n")
            let json = CapturedConsole()
            #expect(json.run("reload", "--json", "--socket", path) == 0 && json.complaints.isEmpty)
        }
        script.verdict = .refused(errors: ["x.conf:3:7: no such size: 12Q"])
        try withDaemon(script) { (path, _) throws in
            let console = CapturedConsole()
            #expect(console.run("reload", "--socket", path) == 1)
            #expect(
                console.complaints.text == """
                    uplinkctl: x.conf:3:7: no such size: 12Q
                    uplinkctl: The configuration has errors: the old configuration stays in force

                    """)
        }
    }

    // MARK: The events socket

    @Test(
        arguments: [
            (400, 65), (413, 65), (415, 65), (422, 65), (403, 77), (408, 75), (429, 75), (503, 75), (404, 1), (500, 1),
        ] as [(Int, Int32)])
    func aRefusalOfEventsHasItsStatus(_ status: Int, _ expected: Int32) throws {
        let refuse: @Sendable (HTTPExchange) -> Void = { exchange in
            exchange.answer(
                ProblemDetails(
                    status: status, type: "x", title: "Not taken", detail: "because", numbers: [("line", 2)]
                ).response())
        }
        try withServer(refuse) { path in
            let console = CapturedConsole(input: ["{\"a\":1}\n[2]\n"])
            #expect(console.run("send", "--socket", path) == expected)
            #expect(
                console.complaints.text
                    == "uplinkctl: standard input:2: Not taken: because; nothing from line 1 on was taken\n")
            #expect(console.output.isEmpty)
        }
    }

    @Test func eventsAreSentAsTheyComeAndCounted() throws {
        let requests = Lock<[String]>([])
        try withServer(Self.taking(requests)) { path in
            let console = CapturedConsole(
                input: ["{\"a\":1}\n{\"b\"", ":2}\n{\"c\":3}\n{\"d\":4}"], environment: ["UPLINKD_SOCKET": path])
            #expect(console.run("send", "--lane", "urgent") == 0)
            #expect(console.output.text == "accepted 4 events: e-1 to e-4\n")
        }
        #expect(
            requests.with { $0 } == [
                "/v1/events?lane=urgent application/x-ndjson {\"a\":1}\n",
                "/v1/events?lane=urgent application/x-ndjson {\"b\":2}\n{\"c\":3}\n",
                "/v1/events?lane=urgent application/x-ndjson {\"d\":4}",
            ])
    }

    /// As a daemon that is not there would be.
    @Test(arguments: [[], [" \n\n"]]) func nothingToSendIsSaidAndReachesTheDaemon(_ input: [String]) throws {
        let requests = Lock<[String]>([])
        try withServer(Self.taking(requests)) { path in
            let console = CapturedConsole(input: input, environment: ["UPLINKD_SOCKET": path])
            #expect(console.run("send", "--lane", "bulk") == 0)
            #expect(console.output.text == "there was nothing to send\n" && console.complaints.isEmpty)
        }
        #expect(requests.with { $0 } == ["/v1/events?lane=bulk application/json []"])
        let console = CapturedConsole(input: input, environment: ["UPLINKD_SOCKET": "/nowhere/events.sock"])
        #expect(console.run("send") == 69 && console.output.isEmpty)
        #expect(console.complaints.text.contains("uplinkd does not listen at /nowhere/events.sock"))
    }

    @Test func whatEventsAreForIsSentWithThem() throws {
        let requests = Lock<[String]>([])
        try withServer(Self.taking(requests)) { path in
            let console = CapturedConsole(input: ["{\"a\":1}\n"], environment: ["UPLINKD_SOCKET": path])
            #expect(console.run("send", "--ttl", "1min 30s", "--lane", "bulk") == 0)
        }
        #expect(
            requests.with { $0 } == [
                "/v1/events?lane=bulk&ttl=1min%2030s application/x-ndjson {\"a\":1}\n"
            ])
    }

    @Test func aDocumentInAFileIsSentWhole() throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/events.json"
        let text = "[\n{\"a\":1},\n{\"b\":2}\n]\n"
        let bytes = Array(text.utf8)
        try FileDescriptor.open(file, [.readWrite, .create]).write(bytes, in: bytes.indices, at: 0)
        let requests = Lock<[String]>([])
        try withServer(Self.taking(requests)) { path in
            let console = CapturedConsole(input: ["{}"])
            #expect(console.run("send", "--socket", path, "--json", file) == 0)
            #expect(console.output.text == "{\"accepted\":1,\"duplicates\":0,\"first\":\"e-1\",\"last\":\"e-1\"}\n")
            #expect(CapturedConsole().run("send", "--socket", path, directory.path + "/none") == 1)
            #expect(CapturedConsole().run("send", "--socket", path, directory.path) == 1)
        }
        #expect(requests.with { $0 } == ["/v1/events application/json \(text)"])
    }

    @Test func whatWasTakenBeforeAnErrorIsTold() throws {
        let requests = Lock<[String]>([])
        let taking = Self.taking(requests)
        let upToThree: @Sendable (HTTPExchange) -> Void = { exchange in
            guard exchange.body.text.contains("[3]") else { return taking(exchange) }
            exchange.answer(
                ProblemDetails(
                    status: 400, type: "x", title: "Bad event", detail: "not an object", numbers: [("line", 2)]
                ).response())
        }
        try withServer(upToThree) { path in
            let console = CapturedConsole(input: ["{\"a\":1}\n{\"b\":2}\n", "{\"c\":3}\n[3]\n"])
            #expect(console.run("send", "--socket", path) == 65)
            #expect(
                console.complaints.text == """
                    uplinkctl: standard input:4: Bad event: not an object; nothing from line 3 on was taken
                    uplinkctl: before that: accepted 2 events: e-1 to e-2

                    """)
        }
    }

    @Test func aFullQueueIsToldWithLaneAndTime() throws {
        let refuse: @Sendable (HTTPExchange) -> Void = { exchange in
            exchange.answer(
                ProblemDetails(status: 503, type: "queue-full", title: "Full", detail: "no room").response(
                    fields: [("Retry-After", "30")]))
        }
        try withServer(refuse) { path in
            let console = CapturedConsole(input: ["[{\"a\":1}]"])
            #expect(console.run("send", "--lane", "bulk", "--socket", path) == 75)
            #expect(
                console.complaints.text == """
                    uplinkctl: standard input: Full: no room; try again in 30 s (lane bulk); nothing of it was taken

                    """)
        }
    }

    @Test func anUnknownLaneIsAUsageError() {
        let console = CapturedConsole()
        #expect(console.run("send", "--lane", "urgnet") == 2)
        #expect(console.complaints.text == "uplinkctl: no lane is named 'urgnet'; did you mean 'urgent'?\n")
    }

    // MARK: Output

    @Test func versionAndHelpGoToStandardOutput() {
        let console = CapturedConsole()
        #expect(console.run("--version") == 0)
        #expect(console.output.text == "uplinkctl 1.2.3\n")
        #expect(console.run("--help") == 0)
        #expect(console.output.text.contains("Usage: uplinkctl"))
        #expect(console.complaints.isEmpty)
    }

    @Test(arguments: [(Errno.noSpace, 1), (.brokenPipe, 0)] as [(Errno, Int32)])
    func outputThatIsNotTakenIsAFailureUnlessTheReaderLeft(_ errno: Errno, _ expected: Int32) {
        let console = Console(
            environment: { _ in nil }, isTerminal: false, showsProgress: false, isInteractive: false,
            output: { _ throws(Errno) in throw errno }, error: { _ in },
            input: { _ throws(Errno) in 0 })
        #expect(Uplinkctl.run(["--version"], version: "1", on: console).rawValue == expected)
    }

    @Test func colourIsForTerminalsAndNeverAgainstTheWish() throws {
        try withDaemon { (path, _) throws in
            let terminal = CapturedConsole(isTerminal: true)
            #expect(terminal.run("status", "--socket", path) == 0)
            #expect(terminal.output.contains(0x1B))
            let plain = CapturedConsole(environment: ["NO_COLOR": "1"], isTerminal: true)
            #expect(plain.run("status", "--socket", path) == 0)
            #expect(!plain.output.contains(0x1B))
        }
    }

    /// Takes each line that is not blank, or a document, as one event; notes target, type and body.
    private static func taking(_ requests: Lock<[String]>) -> @Sendable (HTTPExchange) -> Void {
        let count = Lock(0)
        return { exchange in
            let type = exchange.head.fields["content-type"]?.text ?? "none"
            let query = exchange.head.query.map { "?\($0)" } ?? ""
            requests.with { $0.append("\(exchange.head.path)\(query) \(type) \(exchange.body.text)") }
            let events = type == "application/json" ? 1 : exchange.body.split(separator: 0x0A).count
            let first = count.with { total -> Int in
                defer { total += events }
                return total + 1
            }
            let last = first + events - 1
            let body = #"{"accepted":\#(events),"duplicates":0,"first":"e-\#(first)","last":"e-\#(last)"}"#
            exchange.answer(.json(202, Array(body.utf8)))
        }
    }
}

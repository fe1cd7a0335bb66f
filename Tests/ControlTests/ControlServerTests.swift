import Bytes
import Control
import HTTPServer
import JSON
import Posix
import Testing
import Time

struct ControlServerTests {
    /// Status code, head and body of what `request` is answered, on a connection of its own.
    private func answer(_ path: String, _ request: String) throws -> (status: Int, head: String, body: String) {
        let client = try RawClient(path)
        try client.send(request)
        try client.endInput()
        let text = try client.readToEnd()
        let words = text.split(separator: " ", maxSplits: 2)
        let end = try #require(text.firstRange(of: "\r\n\r\n"))
        return (Int(words[1]) ?? 0, String(text[..<end.lowerBound]), String(text[end.upperBound...]))
    }

    private func get(_ target: String, method: String = "GET") -> String {
        "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n"
    }

    @Test func statusAndMetricsAreServed() throws {
        try withDaemon { (path, _) throws in
            let status = try answer(path, get("/v1/status"))
            #expect(status.status == 200)
            #expect(status.head.contains("Content-Type: application/json"))
            #expect(status.body == StatusReport.example.json.text)
            let metrics = try answer(path, get("/metrics"))
            #expect(metrics.head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"))
            #expect(try !PrometheusText(metrics.body).samples.isEmpty)
            let head = try answer(path, get("/v1/status", method: "HEAD"))
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(head.head.contains("Content-Length: \(status.body.utf8.count)"))
        }
    }

    private func post(_ target: String, _ body: String) -> String {
        "POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static let orders: [(String, String, OperatorOrder)] = [
        ("/v1/destinations/a/pause", "", OperatorOrder.pause(destination: "a", for: nil)),
        ("/v1/destinations/a/pause", #"{"for":"2h"}"#, .pause(destination: "a", for: .seconds(7_200))),
        ("/v1/destinations/a/resume", "", .resume(destination: "a")),
        ("/v1/destinations/a/probe", "", .probe(destination: "a")),
        ("/v1/destinations/a/forget", "", .forget(destination: "a")),
        ("/v1/destinations/a/rename", #"{"to":"b"}"#, .rename(destination: "a", to: "b")),
        ("/v1/dead/retry", #"{"all":true}"#, .retry(LetterSelection(ids: nil, destination: nil))),
        (
            "/v1/dead/drop", #"{"ids":["1-2"],"destination":"a"}"#,
            .drop(LetterSelection(ids: ["1-2"], destination: "a"))
        ),
    ]

    @Test(arguments: orders)
    func ordersAreUnderstood(_ target: String, _ body: String, order: OperatorOrder) throws {
        try withDaemon { (path, told) throws in
            #expect(try answer(path, post(target, body)).status == 200)
            #expect(told.with { $0 } == ["\(order)"])
        }
    }

    private static let nonsense: [(String, String)] = [
        ("/v1/destinations/a/pause", #"{"for":"0"}"#), ("/v1/destinations/a/pause", #"{"for":"500d"}"#),
        ("/v1/destinations/a/pause", "[]"), ("/v1/destinations/a/rename", #"{"to":"A"}"#),
        ("/v1/destinations/a/rename", ""), ("/v1/dead/drop", ""), ("/v1/dead/drop", #"{"all":false}"#),
        ("/v1/dead/drop", #"{"ids":["1-1"],"all":true}"#), ("/v1/dead/retry", #"{"ids":[1]}"#),
        ("/v1/dead/drop", #"{"ids":5,"all":true}"#), ("/v1/dead/drop", #"{"ids":["1-1"],"all":"true"}"#),
    ]

    @Test(arguments: nonsense)
    func ordersThatAreNotUnderstoodDoNothing(_ target: String, _ body: String) throws {
        try withDaemon { (path, told) throws in
            #expect(try answer(path, post(target, body)).status == 422)
            #expect(told.with { $0 }.isEmpty)
        }
    }

    /// Orders that would be for more than was meant, and the member that is to blame.
    private static let misread: [(String, String, String)] = [
        ("/v1/dead/drop", #"{"all":true,"destination":5}"#, "destination is no string"),
        ("/v1/dead/drop", #"{"all":true,"destination":["a"]}"#, "destination is no string"),
        ("/v1/dead/retry", #"{"all":true,"destination":null}"#, "destination is no string"),
        ("/v1/dead/retry", #"{"all":true,"dest":"a"}"#, "unknown member: dest"),
        ("/v1/destinations/a/pause", #"{"for":5}"#, "for is no string"),
        ("/v1/destinations/a/pause", #"{"while":"2h"}"#, "unknown member: while"),
        ("/v1/destinations/a/resume", #"{"for":"2h"}"#, "unknown member: for"),
        ("/v1/destinations/a/probe", #"{"for":"2h"}"#, "unknown member: for"),
        ("/v1/destinations/a/forget", #"{"log":"bulk"}"#, "unknown member: log"),
        ("/v1/destinations/a/rename", #"{"to":"b","log":"bulk"}"#, "unknown member: log"),
        ("/v1/destinations/a/rename", #"{"to":"b","to":"c"}"#, "to stands there twice"),
        ("/v1/purge", #"{"consent":"a","c\u006fnsent":"b"}"#, "consent stands there twice"),
    ]

    @Test(arguments: misread)
    func aMemberThatIsNotUnderstoodIsNamed(_ target: String, _ body: String, _ detail: String) throws {
        try withDaemon { (path, told) throws in
            let found = try answer(path, post(target, body))
            #expect(found.status == 422 && found.body.contains(detail), "\(found.body)")
            #expect(told.with { $0 }.isEmpty)
        }
    }

    @Test func aStateThatStandsThereTwiceIsRefused() throws {
        try withDaemon { (path, told) throws in
            let body = #"{"state":"deny","state":"allow"}"#
            let request = post("/v1/consent/ads", body).dropFirst("POST".count)
            let found = try answer(path, "PUT" + request)
            #expect(found.status == 422 && found.body.contains("state stands there twice"), "\(found.body)")
            #expect(told.with { $0 }.isEmpty)
        }
    }

    @Test func deadLettersAreShownWithTheirEventWhereOneIsAskedFor() throws {
        let letter = DeadLetterReport(
            id: "1-2", destination: "a", log: "normal", status: 400, detail: "no \u{1B}", attempts: 3,
            at: WallTime(milliseconds: 0), acceptedAt: nil, isRetried: false, event: Array("{\"n\": 1}".utf8))
        for withEvents in [false, true] {
            let script = Script(answer: .letters([letter], next: "a/normal/2", withEvents: withEvents))
            try withDaemon(script) { (path, told) throws in
                let body = try answer(path, get(withEvents ? "/v1/dead/1-2" : "/v1/dead?destination=a")).body
                let value = try JSONValue(parsing: Array(body.utf8))
                #expect(value["next"]?.string == "a/normal/2")
                #expect(value["dead"]?.array?[0]["detail"]?.string == "no \u{1B}")
                #expect(body.contains(#""event":{"n": 1}"#) == withEvents)
                #expect(told.with { $0.count } == 1)
            }
        }
    }

    private static let answers: [(OperatorAnswer, Int)] = [
        (OperatorAnswer.unknown("x"), 404), (.conflict("x"), 409), (.failed("x"), 503), (.count(3), 200),
    ]

    @Test(arguments: answers)
    func answersHaveTheirStatus(_ given: OperatorAnswer, status: Int) throws {
        try withDaemon(Script(answer: given)) { (path, _) throws in
            #expect(try answer(path, post("/v1/dead/drop", #"{"all":true}"#)).status == status)
        }
    }

    @Test func healthIsToldByStatus() throws {
        try withDaemon { (path, _) throws in
            #expect(try answer(path, get("/livez")).status == 200)
            #expect(try answer(path, get("/readyz")).status == 200)
        }
        var ill = Script()
        ill.isAlive = false
        ill.isReady = false
        try withDaemon(ill) { (path, _) throws in
            #expect(try answer(path, get("/livez")).status == 503)
            #expect(try answer(path, get("/readyz")).status == 503)
        }
    }

    @Test(arguments: [
        ("/", 404), ("/v1/status/", 404), ("/v1/destinations/collector", 404), ("/v1/destinations//flush", 404),
        ("/v1/destinations/collector/frob", 404), ("/v1/watch", 503), ("//metrics", 404),
    ])
    func whatIsNotOfferedIsNotFound(_ target: String, _ status: Int) throws {
        try withDaemon { (path, _) throws in
            let found = try answer(path, get(target))
            #expect(found.status == status)
            #expect(found.head.contains("application/problem+json"))
            #expect(try JSONValue(parsing: Array(found.body.utf8))["status"]?.integer == Int64(status))
        }
    }

    @Test(arguments: [
        ("POST", "/v1/status", "GET, HEAD"), ("DELETE", "/metrics", "GET, HEAD"), ("GET", "/v1/reload", "POST"),
        ("GET", "/v1/destinations/collector/flush", "POST"), ("PUT", "/livez", "GET, HEAD"),
    ])
    func anotherMethodIsToldWhichAreTaken(_ method: String, _ target: String, _ allowed: String) throws {
        try withDaemon { (path, _) throws in
            let found = try answer(path, get(target, method: method))
            #expect(found.status == 405)
            #expect(found.head.contains("Allow: \(allowed)\r\n") || found.head.hasSuffix("Allow: \(allowed)"))
        }
    }

    @Test func flushReachesTheDestinationNamed() throws {
        try withDaemon { (path, flushed) throws in
            #expect(try answer(path, get("/v1/destinations/backup/flush", method: "POST")).status == 202)
            #expect(try answer(path, get("/v1/destinations/nobody/flush", method: "POST")).status == 404)
            #expect(flushed.with { $0 } == ["backup", "nobody"])
        }
    }

    @Test func reloadIsAnsweredWithTheVerdictWheneverItComes() throws {
        var script = Script()
        script.verdict = .taken(changed: ["URL of collector"], needsRestart: ["[Queue] MaxSize"], warnings: ["w"])
        script.verdictDelay = .milliseconds(30)
        try withDaemon(script) { (path, _) throws in
            let found = try answer(path, get("/v1/reload", method: "POST"))
            #expect(found.status == 200)
            #expect(
                found.body
                    == #"{"changed":["URL of collector"],"needs_restart":["[Queue] MaxSize"],"warnings":["w"]}"# + "\n")
        }
        script.verdict = .refused(errors: ["/etc/x:3:1: no such size: \"12Q\""])
        try withDaemon(script) { (path, _) throws in
            let found = try answer(path, get("/v1/reload", method: "POST"))
            #expect(found.status == 422)
            #expect(found.head.contains("application/problem+json"))
            let errors = try JSONValue(parsing: Array(found.body.utf8))["errors"]
            #expect(errors?.array == [.string("/etc/x:3:1: no such size: \"12Q\"")])
        }
    }

    @Test func aReloadThatNeverEndsIsAnsweredAndOneWhoseClientLeftHurtsNobody() throws {
        var script = Script()
        script.verdict = nil
        var limits = HTTPServerLimits()
        limits.answerTime = .milliseconds(50)
        try withDaemon(script, limits: limits) { (path, _) throws in
            #expect(try answer(path, get("/v1/reload", method: "POST")).status == 503)
        }
        script.verdict = .refused(errors: [])
        script.verdictDelay = .milliseconds(50)
        try withDaemon(script) { (path, _) throws in
            do {
                let client = try RawClient(path)
                try client.send(get("/v1/reload", method: "POST"))
            }
            #expect(try answer(path, get("/v1/reload", method: "POST")).status == 422)
        }
    }
}

import Bytes
import Control
import HTTPServer
import JSON
import Posix
import Testing

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
        ("/v1/destinations/collector/pause", 404), ("/v1/watch", 404), ("//metrics", 404),
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
                    == #"{"changed":["URL of collector"],"needs_restart":["[Queue] MaxSize"],"warnings":["w"]}"#)
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

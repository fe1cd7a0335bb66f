import Bytes
import HTTP1
import HTTPServer
import JSON
import Posix
import Reactor
import Testing

@testable import ControlClient

struct CollectorTests {
    /// Runs a collector; gives its socket and the lines it printed so far.
    private func withCollector(_ body: (String, Lock<String>) throws -> Void) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/collector.sock"
        let printed = Lock("")
        try withLoop({ loop in
            let collector = try Collector(taking: Socket.listenUnix(path), on: loop) { line in
                printed.with { $0 += line.text }
            }
            return (collector, true)
        }) { _ in try body(path, printed) }
    }

    /// Status and body of what the collector answers.
    private func post(
        _ path: String, _ body: [UInt8], method: String = "POST", encoding: String? = nil
    ) throws -> (status: Int, body: String) {
        var request: [UInt8] = []
        RequestWriter.append(
            method: method, target: "/any", host: "x",
            fields: [("Connection", "close")] + (encoding.map { [("Content-Encoding", $0)] } ?? []), body: body,
            to: &request)
        let client = try RawClient(path)
        try client.send(request)
        let answer = try client.readToEnd()
        let words = answer.split(separator: " ", maxSplits: 2)
        let end = try #require(answer.firstRange(of: "\r\n\r\n"))
        return (Int(words[1]) ?? 0, String(answer[end.upperBound...]))
    }

    @Test func everyShapeIsPrintedAnEventALine() throws {
        try withCollector { (path, printed) throws in
            #expect(try post(path, Array("[{\"a\":\n1}, {\"b\":\"x\\ny\"}]".utf8)).body == "{\"received\":2}\n")
            #expect(try post(path, Array("{\"c\":3}\n{\"d\":4}\n".utf8)).body == "{\"received\":4}\n")
            #expect(try post(path, Array("{\"e\":5}".utf8), method: "PUT").body == "{\"received\":5}\n")
            #expect(try post(path, GzipSamples.array, encoding: "gzip").body == "{\"received\":7}\n")
            let both = GzipSamples.line + GzipSamples.array
            #expect(try post(path, both, encoding: "gzip").body == "{\"received\":10}\n")
            let expected = """
                {"a": 1}
                {"b":"x\\ny"}
                {"c":3}
                {"d":4}
                {"e":5}
                {"g":1}
                {"g":2}
                {"g":3}
                {"g":1}
                {"g":2}

                """
            #expect(printed.with { $0 } == expected)
        }
    }

    @Test func whatSteersATerminalIsEscaped() throws {
        let event = "{\"n\":\"\u{9B}31m\u{202E}\u{7F}é\\u001b[2J\"}"
        try withCollector { (path, printed) throws in
            #expect(try post(path, Array(event.utf8)).status == 200)
            let line = printed.with { $0 }
            #expect(line == "{\"n\":\"\\u009b31m\\u202e\\u007fé\\u001b[2J\"}\n")
            #expect(try JSONValue(parsing: Array(line.utf8)) == JSONValue(parsing: Array(event.utf8)))
        }
    }

    @Test func checksAreAnsweredAndBadRequestsPrintNothing() throws {
        try withCollector { (path, printed) throws in
            let checks = try [post(path, [], method: "GET").status, post(path, [], method: "HEAD").status]
            #expect(checks == [200, 200])
            let refused = try [
                post(path, Array("abc".utf8)).status, post(path, Array("[{}".utf8)).status,
                post(path, GzipSamples.array.dropLast(1), encoding: "gzip").status,
                post(path, Array("{}".utf8), encoding: "br").status, post(path, [], method: "DELETE").status,
                post(path, Array("[{\"a\":1}]x".utf8)).status,
            ]
            #expect(refused == [400, 400, 400, 415, 405, 400])
            #expect(printed.with { $0.isEmpty })
        }
    }
}

struct GzipTests {
    @Test func samplesReadBack() throws {
        #expect(try Gzip.decompress(GzipSamples.array, limit: 100).text == "[{\"g\":1},{\"g\":2}]")
        #expect(try Gzip.decompress(GzipSamples.array + GzipSamples.line, limit: 100).text.hasSuffix("\n{\"g\":3}\n"))
    }

    @Test func everyCutAndEveryFlippedByteIsNoticed() {
        let sample = GzipSamples.array
        for length in 0..<sample.count {
            #expect(throws: GzipError.malformed) { try Gzip.decompress(Array(sample[..<length]), limit: 100) }
        }
        for place in [0, 1, 2, 10, 11, sample.count - 5, sample.count - 1] {
            var damaged = sample
            damaged[place] ^= 0x55
            #expect(throws: GzipError.malformed, "byte \(place)") { try Gzip.decompress(damaged, limit: 1_000) }
        }
    }

    @Test func moreThanTheLimitIsRefused() {
        #expect(throws: GzipError.tooLarge) { try Gzip.decompress(GzipSamples.array, limit: 16) }
    }
}

import Bytes
import HTTP1
import Testing

private func parse(_ text: String) throws(HTTPError) -> (head: RequestHead, count: Int)? {
    var parser = RequestHeadParser()
    let bytes = Array(text.utf8)
    return try parser.parse(bytes.span)
}

struct RequestHeadTests {
    @Test func takesWhatCurlSends() throws {
        let text = """
            POST /v1/events?lane=bulk&x=a+b%2Fc HTTP/1.1\r
            Host: localhost\r
            User-Agent: curl/7.88.1\r
            Accept: */*\r
            Content-Length: 12\r
            content-type:application/json \t\r
            Connection: Upgrade, HTTP2-Settings\r
            Expect: 100-continue\r
            \r
            {"event":1}
            """
        let (head, count) = try #require(try parse(text))
        #expect(count == text.utf8.count - 11)
        #expect(head.method == "POST" && head.path == "/v1/events" && head.query == "lane=bulk&x=a+b%2Fc")
        #expect(head.queryParameters()?.map(\.name) == ["lane", "x"])
        #expect(head.queryParameters()?.map(\.value) == ["bulk", "a b/c"])
        #expect(head.fields["CONTENT-TYPE"]?.text == "application/json")
        #expect(head.fields["accept"]?.text == "*/*" && head.fields["cookie"] == nil)
        #expect(head.framing == .length(12) && head.keepsAlive && head.expectsContinue && head.minorVersion == 1)
        #expect(head.fields.list("connection", has: "upgrade") && !head.fields.list("connection", has: "grade"))
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", true), ("GET / HTTP/1.0\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nConnection: x, CLOSE\r\n\r\n", false),
    ])
    func keepsAlive(_ text: String, expected: Bool) throws {
        #expect(try parse(text)?.head.keepsAlive == expected)
    }

    @Test(arguments: [
        ("GET http://%2Frun%2Fx.sock/v1/a?b HTTP/1.1\r\n\r\n", "/v1/a", "b"),
        ("GET http://host HTTP/1.1\r\n\r\n", "/", nil),
        ("OPTIONS * HTTP/1.1\r\n\r\n", "*", nil), ("GET /? HTTP/1.1\r\n\r\n", "/", ""),
    ])
    func takesEveryFormOfTarget(_ text: String, path: String, query: String?) throws {
        let head = try #require(try parse(text)).head
        #expect(head.path == path && head.query == query)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
        ("GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", 400), ("GET / HTTP/1.1\r\nA: b\u{0}c\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 400), ("GET / HTTP/1.1\r\n A: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nA : b\r\n\r\n", 400), ("GET / HTTP/1.1\r\n: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nA\r\n\r\n", 400), ("GET / HTTP/1.1\r\nA(: b\r\n\r\n", 400),
        ("GET /\r\n\r\n", 400), ("GET  / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1 \r\n\r\n", 400),
        ("G(T / HTTP/1.1\r\n\r\n", 400), ("GET x HTTP/1.1\r\n\r\n", 400), ("GET /\u{E9} HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.10\r\n\r\n", 400), ("GET / http/1.1\r\n\r\n", 400), ("GET / HTTP/x.1\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\n\r\n", 505), ("GET / HTTP/0.9\r\n\r\n", 505),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400), ("POST / HTTP/1.1\r\nContent-Length: 0x1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length:\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 9999999999999999999\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400), ("\r\n\r\n", 400),
    ])
    func refuses(_ text: String, status: Int) {
        do throws(HTTPError) {
            let result = try parse(text)
            Issue.record("taken: \(String(describing: result))")
        } catch {
            #expect(error.status == status)
        }
    }

    @Test func takesHeadsUpToSixteenKibibytes() throws {
        let start = "GET / HTTP/1.1\r\nA: "
        let fits = start + String(repeating: "x", count: HTTPLimits.headBytes - start.utf8.count - 4) + "\r\n\r\n"
        #expect(try parse(fits)?.count == HTTPLimits.headBytes)
        #expect(throws: HTTPError.headTooLarge) { try parse(start + "x" + fits.dropFirst(start.count)) }
        #expect(throws: HTTPError.headTooLarge) {
            try parse(start + String(repeating: "x", count: HTTPLimits.headBytes))
        }
        let fields = String(repeating: "A: b\r\n", count: HTTPLimits.fields)
        #expect(try parse("GET / HTTP/1.1\r\n\(fields)\r\n")?.head.fields.count == HTTPLimits.fields)
        #expect(throws: HTTPError.headTooLarge) { try parse("GET / HTTP/1.1\r\n\(fields)A: b\r\n\r\n") }
    }

    @Test func findsTheSameHeadHoweverTheInputIsCut() throws {
        let text = Array("POST /a HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\n\r\nabcGET".utf8)
        for first in 0...text.count {
            var parser = RequestHeadParser()
            let early = try parser.parse(text.span.extracting(0..<first))
            let (head, count) = try #require(try early ?? parser.parse(text.span))
            #expect(count == text.count - 6 && head.framing == .length(3) && head.path == "/a")
            #expect((early != nil) == (first >= count))
        }
    }

    @Test(arguments: ["a=%", "a=%4", "a=%GG", "%FF=1", "a=%+1"])
    func refusesMalformedQueries(_ query: String) throws {
        #expect(try #require(try parse("GET /?\(query) HTTP/1.1\r\n\r\n")).head.queryParameters() == nil)
    }

    @Test(arguments: [UInt64(5), 99])
    func neverTrapsOnDamagedHeads(seed: UInt64) {
        let text = Array(
            "POST /v1/events?lane=bulk HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
                .utf8)
        var random = SplitMix64(seed: seed)
        for _ in 0..<2_000 {
            var damaged = text
            for _ in 0..<3 {
                let at = Int.random(in: 0..<damaged.count, using: &random)
                damaged[at] = UInt8.random(in: 0...255, using: &random)
            }
            var parser = RequestHeadParser()
            if let head = try? parser.parse(damaged.span)?.head { _ = head.queryParameters() }
        }
    }
}

struct ResponseHeadTests {
    private func parse(_ text: String) throws(HTTPError) -> ResponseHead? {
        var parser = ResponseHeadParser()
        let bytes = Array(text.utf8)
        return try parser.parse(bytes.span)?.head
    }

    @Test func takesStatusAndFraming() throws {
        let head = try #require(try parse("HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\nRetry-After: 3\r\n\r\n"))
        #expect(head.status == 202 && head.reason == "Accepted" && head.framing == .length(5) && head.keepsAlive)
        #expect(head.fields["retry-after"]?.text == "3")
        #expect(try parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?.framing == .chunked)
        #expect(try parse("HTTP/1.0 200\r\n\r\n")?.framing == .untilClose)
        #expect(try parse("HTTP/1.1 204 No Content\r\n\r\n")?.framing == BodyFraming.none)
        #expect(try parse("HTTP/1.1 100 Continue\r\n\r\n")?.framing == BodyFraming.none)
    }

    @Test(arguments: [
        "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 600 X\r\n\r\n", "HTTP/1.1\r\n\r\n",
        "ok\r\n\r\n",
    ])
    func refuses(_ text: String) {
        #expect(throws: HTTPError.self) { try parse(text) }
    }
}

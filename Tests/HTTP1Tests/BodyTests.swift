import Bytes
import HTTP1
import JSON
import Testing

struct ChunkedDecoderTests {
    private let text = Array("5\r\nhello\r\n1;x=\"y\"\r\n \r\n0005 \r\nworld\r\n0\r\nX: y\r\n\r\nGET".utf8)

    private func decode(_ pieces: [ArraySlice<UInt8>], limit: Int = 100) throws(HTTPError) -> (
        body: [UInt8], rest: [UInt8]
    ) {
        var decoder = ChunkedDecoder(limit: limit)
        var waiting: [UInt8] = []
        var body: [UInt8] = []
        for piece in pieces {
            waiting += piece
            waiting.dropPrefix(try decoder.decode(waiting.span, into: &body))
        }
        #expect(decoder.isComplete)
        return (body, waiting)
    }

    @Test func decodesHoweverTheInputIsCut() throws {
        for first in 0...text.count {
            let (body, rest) = try decode([text[..<first], text[first...]])
            #expect(body.text == "hello world" && rest.text == "GET")
        }
        let (body, rest) = try decode(text.indices.map { text[$0...$0] })
        #expect(body.text == "hello world" && rest.text == "GET")
    }

    @Test(arguments: [
        ("5\nhello", 400), ("5\r\nhelloX\r\n", 400), ("g\r\n", 400), ("\r\n", 400), ("-1\r\n", 400), ("0x5\r\n", 400),
        ("123456789\r\n", 400), ("5 x\r\n", 400), ("65\r\n", 413), ("ffffffff\r\n", 413), ("5;\u{1}\r\n", 400),
        ("32\r\n" + String(repeating: "x", count: 50) + "\r\n33\r\n", 413),
        ("5;" + String(repeating: "x", count: 300), 400), ("0\r\nA: b\n\r\n", 400),
    ])
    func refuses(_ text: String, status: Int) {
        var decoder = ChunkedDecoder(limit: 100)
        var body: [UInt8] = []
        let bytes = Array(text.utf8)
        do throws(HTTPError) {
            _ = try decoder.decode(bytes.span, into: &body)
            Issue.record("taken: \(text)")
        } catch {
            #expect(error.status == status)
        }
    }

    @Test func refusesTrailersWithoutEnd() {
        var decoder = ChunkedDecoder(limit: 100)
        var body: [UInt8] = []
        let bytes = Array(("0\r\n" + String(repeating: "A: b\r\n", count: 3_000)).utf8)
        #expect(throws: HTTPError.headTooLarge) { try decoder.decode(bytes.span, into: &body) }
    }

    @Test func takesExactlyTheLimit() throws {
        #expect(try decode([text[...]], limit: 11).body.count == 11)
        #expect(throws: HTTPError.bodyTooLarge) { try decode([text[...]], limit: 10) }
    }
}

struct WriterTests {
    @Test func answersAreRead() throws {
        var output: [UInt8] = []
        ProblemDetails(
            status: 400, type: "not-json", title: "The body is not JSON", detail: "a \"quote\"", numbers: [("index", 3)]
        ).response(fields: [("Retry-After", "5")]).append(to: &output, keepsAlive: false)
        var parser = ResponseHeadParser()
        let (head, count) = try #require(try parser.parse(output.span))
        #expect(head.status == 400 && head.reason == "Bad Request" && !head.keepsAlive)
        #expect(head.fields["content-type"]?.text == "application/problem+json")
        #expect(head.fields["retry-after"]?.text == "5")
        let body = Array(output[count...])
        #expect(head.framing == .length(body.count))
        let problem = try JSONValue(parsing: body)
        #expect(problem["type"]?.string == "urn:uplinkd:problem:not-json" && problem["status"]?.integer == 400)
        #expect(problem["detail"]?.string == "a \"quote\"" && problem["index"]?.integer == 3)
    }

    @Test func requestsAreRead() throws {
        var output: [UInt8] = []
        RequestWriter.append(
            method: "POST", target: "/v1/x?y=z", host: "localhost", fields: [("A", "b")], body: [1, 2], to: &output)
        var parser = RequestHeadParser()
        let (head, count) = try #require(try parser.parse(output.span))
        #expect(head.path == "/v1/x" && head.framing == .length(2) && head.fields["a"]?.text == "b")
        #expect(Array(output[count...]) == [1, 2])
    }

    @Test func chunksAreDecoded() throws {
        var output: [UInt8] = []
        ResponseWriter.appendChunk(Array("hello".utf8), to: &output)
        ResponseWriter.appendChunk([UInt8](repeating: 0x61, count: 20), to: &output)
        ResponseWriter.appendLastChunk(to: &output)
        var decoder = ChunkedDecoder(limit: 100)
        var body: [UInt8] = []
        #expect(try decoder.decode(output.span, into: &body) == output.count)
        #expect(decoder.isComplete && body.text == "hello" + String(repeating: "a", count: 20))
    }

    @Test func aLineBreakInAFieldIsABug() async {
        await #expect(processExitsWith: .failure) {
            var output: [UInt8] = []
            Response(status: 200, fields: [("A", "b\r\nC: d")]).append(to: &output, keepsAlive: true)
        }
    }
}

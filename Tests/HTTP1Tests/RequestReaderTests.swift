import Bytes
import HTTP1
import Testing

struct RequestReaderTests {
    private static let plain = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
    private static let chunked =
        "PUT /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
    private static let bare = "\r\nGET /c HTTP/1.1\r\nHost: x\r\n\r\n"

    /// Feeds `text` in pieces of `size` bytes; `METHOD PATH BODY` of each request.
    private func requests(_ text: String, pieces size: Int, limit: Int = 100) throws -> [String] {
        var reader = RequestReader(bodyLimit: limit)
        var input: [UInt8] = []
        var found: [String] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            input += rest.prefix(size)
            rest = rest.dropFirst(size)
            while true {
                let (taken, outcome) = try reader.next(input.span, from: 0)
                input.removeFirst(taken)
                guard case .request(let head, let body) = outcome else { break }
                found.append("\(head.method) \(head.path) \(body.text)")
            }
        }
        #expect(reader.isBetweenRequests)
        #expect(input.isEmpty)
        return found
    }

    @Test(arguments: [1, 2, 3, 7, 64, 1_000])
    func requestsComeOutTheSameHoweverTheInputIsCut(_ size: Int) throws {
        let text = Self.plain + Self.chunked + Self.bare + Self.plain
        #expect(
            try requests(text, pieces: size) == ["POST /a hello", "PUT /b abcde", "GET /c ", "POST /a hello"])
    }

    @Test func aBodyOverTheLimitIsRefusedBeforeItIsRead() {
        let head = "POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 101\r\n\r\n"
        #expect(throws: HTTPError.bodyTooLarge) { try requests(head, pieces: 1_000) }
        #expect(throws: HTTPError.bodyTooLarge) { try requests(Self.chunked, pieces: 1_000, limit: 4) }
    }

    @Test func anEmptyLineThatComesInHalvesHidesNothing() throws {
        var reader = RequestReader(bodyLimit: 100)
        guard case (0, .incomplete) = try reader.next(Array("\r".utf8).span, from: 0) else {
            Issue.record("half a line was taken")
            return
        }
        let rest = Array("\r\n\nGET /c HTTP/1.1\r\n".utf8)
        #expect(throws: HTTPError.malformed("a line of the head ends without a carriage return")) {
            try reader.next(rest.span, from: 0)
        }
    }

    @Test func continueIsAskedForOnceAndOnlyWhileTheBodyIsMissing() throws {
        let head = Array("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n".utf8)
        var reader = RequestReader(bodyLimit: 100)
        guard case (head.count, .continueExpected) = try reader.next(head.span, from: 0) else {
            Issue.record("not asked for")
            return
        }
        guard case (0, .incomplete) = try reader.next([UInt8]().span, from: 0) else {
            Issue.record("asked for twice")
            return
        }
        var impatient = RequestReader(bodyLimit: 100)
        let whole = head + Array("hi".utf8)
        guard case (_, .request(_, let body)) = try impatient.next(whole.span, from: 0) else {
            Issue.record("the body was there already")
            return
        }
        #expect(body.text == "hi")
    }
}

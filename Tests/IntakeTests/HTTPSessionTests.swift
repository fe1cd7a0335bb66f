import Bytes
import HTTP1
import Intake
import JSON
import Queue
import Testing

struct Answer {
    let status: Int
    let head: ResponseHead
    let body: [UInt8]

    var json: JSONValue? { try? JSONValue(parsing: body) }
    var problem: String? { json?["type"]?.string.map { String($0.split(separator: ":").last ?? "") } }
}

/// The answers in a stream, in order; interim ones, too.
func answers(in text: String) throws -> [Answer] {
    let bytes = Array(text.utf8)
    var found: [Answer] = []
    var at = 0
    while at < bytes.count {
        var parser = ResponseHeadParser()
        let (head, count) = try #require(try parser.parse(bytes.span, from: at))
        at += count
        var length = 0
        if case .length(let stated) = head.framing { length = stated }
        found.append(Answer(status: head.status, head: head, body: Array(bytes[at..<at + length])))
        at += length
    }
    return found
}

func post(
    _ body: String, type: String? = "application/json", query: String = "", fields: [String] = []
) -> String {
    var lines = ["POST /v1/events\(query) HTTP/1.1", "Host: x", "Content-Length: \(body.utf8.count)"] + fields
    if let type { lines.append("Content-Type: \(type)") }
    return (lines + ["", body]).joined(separator: "\r\n")
}

/// The single answer to a request, with its commit done.
private func answer(_ request: String, _ client: inout HTTPClient) throws -> Answer {
    let text = client.feed(request) + client.settle(client.rig.commit())
    let found = try answers(in: text)
    #expect(found.count == 1)
    return try #require(found.first)
}

private func answer(_ request: String) throws -> Answer {
    var client = HTTPClient(SessionRig())
    return try answer(request, &client)
}

private func cloudEvent(_ id: Int) -> String {
    "{\"id\":\"\(id)\",\"source\":\"/a\",\"specversion\":\"1.0\",\"type\":\"t\"}"
}
private let good = cloudEvent(1)
private let other = cloudEvent(2)

struct HTTPSessionTests {
    @Test(
        arguments: [
            ("{\"a\":1}", "application/json", 1), ("[{\"a\":1},{},{}]", "application/json; charset=utf-8", 3),
            (" [ {} , {} ] \n", "APPLICATION/JSON", 2), ("[]", "application/json", 0),
            ("{}\n\n \r\n{}", "application/x-ndjson", 2),
            ("", "application/x-ndjson", 0), ("{\"a\":\n1}", "application/x-www-form-urlencoded", 1), ("[{}]", nil, 1),
            (good, "application/cloudevents+json", 1),
            ("[\(good),\(other)]", "application/cloudevents-batch+json; charset=utf-8", 2),
            ("[]", "application/cloudevents-batch+json", 0),
        ] as [(String, String?, Int)])
    func takesEveryForm(_ body: String, type: String?, count: Int) throws {
        var client = HTTPClient(SessionRig())
        let answer = try answer(post(body, type: type), &client)
        #expect(answer.status == 202 && answer.head.keepsAlive)
        #expect(answer.json?["accepted"]?.integer == Int64(count) && answer.json?["duplicates"]?.integer == 0)
        #expect(client.rig.stored.count == count && client.rig.turn.accepted == UInt64(count))
        #expect(answer.json?["first"]?.string == (count > 0 ? "000000000000abcd-1" : nil))
        #expect(answer.json?["last"]?.string == (count > 0 ? "000000000000abcd-\(count)" : nil))
    }

    @Test func answersAfterTheSyncOnly() {
        var client = HTTPClient(SessionRig())
        #expect(client.feed(post("{}")) == "")
        #expect(client.session.isWaiting)
        #expect(client.settle(client.rig.commit()).hasPrefix("HTTP/1.1 202 Accepted\r\n"))
    }

    @Test func storesTheBytesAsTheyCame() throws {
        var client = HTTPClient(SessionRig())
        let event = "{ \"a\" : 1.10e+2 ,\n \"a\":\"\\u00e9\\ud800\",\r\n\t\"b\": [ ] }"
        _ = try answer(post("[ \(event) , {} ]"), &client)
        #expect(client.rig.stored.map(\.event) == [event, "{}"])
    }

    /// They see nothing of JSON otherwise.
    @Test(arguments: [
        ("rubbish\n", true), ("rubbish", true), ("\"event\"\r\n", true), ("hello {}\n{}\n", true),
        ("GET /livez\n", true), ("POST /v1/events HTTP/1.1\nHost: x\n\n", false),
        ("POST /v1/events HTTP/1.1\r\nno colon\r\n\r\n", false),
        ("GET /livez HTTP/1.1\r\n\r\nrubbish\n", false),
    ])
    func whoPostsLinesThatAreNoneIsToldOfThem(_ input: String, isTold: Bool) {
        var client = HTTPClient(SessionRig())
        let told = "the first line is neither a JSON object, as each line of events is, nor HTTP/1.1"
        let answer = client.feed(input, hasEnded: true)
        #expect(answer.contains(" 400 ") && answer.contains(told) == isTold, "\(answer)")
    }

    @Test(arguments: [
        ("", LogName.normal), ("?lane=urgent", .urgent), ("?lane=bulk", .bulk), ("?lane=norm%61l", .normal),
    ])
    func putsEventsIntoTheirLane(_ query: String, log: LogName) throws {
        var client = HTTPClient(SessionRig())
        #expect(try answer(post("{}", query: query), &client).status == 202)
        #expect(client.rig.stored.map(\.log) == [log])
    }

    @Test(arguments: [
        ("", UInt32(0)), ("?ttl=30", 30), ("?ttl=1us", 1), ("?ttl=1.5s&lane=bulk", 2), ("?ttl=1h%2030min", 5_400),
        ("?ttl=7d", 604_800), ("?ttl=4294967295s", .max),
    ])
    func givesEventsTheirTimeToLive(_ query: String, seconds: UInt32) throws {
        var client = HTTPClient(SessionRig())
        #expect(try answer(post("[{},{\"a\":1}]", query: query), &client).status == 202)
        #expect(client.rig.timesToLive == [seconds, seconds])
    }

    @Test(
        arguments: [
            ("", "application/json", 400, "not-json", nil, 0), ("{", "application/json", 400, "not-json", 0, 1),
            ("1", "application/json", 400, "not-an-object", 0, 0),
            ("[1]", "application/json", 400, "not-an-object", 0, 1),
            ("[{},[]]", "application/json", 400, "not-an-object", 1, 4),
            ("[{},{]", "application/json", 400, "not-json", 1, 5),
            ("[{},]", "application/json", 400, "not-json", 1, 4), ("[{}", "application/json", 400, "not-json", 0, 3),
            ("{} {}", "application/json", 400, "not-json", 0, 3),
            ("\u{FEFF}{}", "application/json", 400, "not-json", 0, 0),
            ("{\"specversion\":\"1.0\"}", "application/cloudevents+json", 422, "cloudevents-attribute", 0, 0),
            (
                good.replacing("\"1.0\"", with: "\"0.3\""), "application/cloudevents+json", 422,
                "cloudevents-attribute", 0, 38
            ),
            (
                good.replacing("\"/a\"", with: "\"\""), "application/cloudevents+json", 422, "cloudevents-attribute", 0,
                19
            ),
            (good.replacing("\"1\"", with: "1"), "application/cloudevents+json", 422, "cloudevents-attribute", 0, 6),
            (
                "[\(good),{}]", "application/cloudevents-batch+json", 422, "cloudevents-attribute", 1,
                good.utf8.count + 2
            ),
            ("[\(good)]", "application/cloudevents+json", 400, "not-an-object", 0, 0),
            (good, "application/cloudevents-batch+json", 400, "not-an-object", nil, 0),
        ] as [(String, String, Int, String, Int?, Int)])
    func namesTheEventThatIsWrong(
        _ body: String, type: String, status: Int, problem: String, index: Int?, offset: Int
    ) throws {
        var client = HTTPClient(SessionRig())
        let answer = try answer(post(body, type: type), &client)
        #expect(answer.status == status && answer.problem == problem)
        #expect(answer.head.fields["content-type"]?.text == "application/problem+json")
        if let index { #expect(answer.json?["index"]?.integer == Int64(index)) }
        #expect(answer.json?["offset"]?.integer == Int64(offset))
        #expect(answer.json?["title"]?.string != nil && answer.json?["detail"]?.string != nil)
        #expect(client.rig.stored.isEmpty && client.rig.turn.refused == 1, "taken whole or not at all")
        #expect(answer.head.keepsAlive)
    }

    @Test(arguments: [("{}\n\n[]\n", 3, 4), ("{}\nx", 2, 3), ("{\n}\n", 1, 1), ("{}{}\n", 1, 2)])
    func namesTheLineThatIsWrong(_ body: String, line: Int, offset: Int) throws {
        let answer = try answer(post(body, type: "application/x-ndjson"))
        #expect(answer.status == 400)
        #expect(answer.json?["line"]?.integer == Int64(line) && answer.json?["offset"]?.integer == Int64(offset))
        #expect(answer.json?["index"] == nil)
    }

    @Test(
        arguments: [
            ("GET /v1/events HTTP/1.1\r\n\r\n", 405, "method-not-allowed"),
            ("GET /v1/status HTTP/1.1\r\n\r\n", 404, "not-found"),
            ("POST /livez HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405, "method-not-allowed"),
            (post("a=b", type: nil), 415, "media-type"),
            (post("a=b", type: "application/x-www-form-urlencoded"), 415, "media-type"),
            (post("{}", type: "text/plain"), 415, "media-type"),
            (post("{}", fields: ["Content-Encoding: gzip"]), 415, "media-type"),
            (post("{}", fields: ["Expect: 200-ok"]), 417, "expectation"),
            (post("{}", query: "?lane=fast"), 422, "parameter"),
            (post("{}", query: "?lane=bulk&lane=bulk"), 422, "parameter"),
            (post("{}", query: "?x=1"), 422, "parameter"),
            (post("{}", query: "?ttl=1h&ttl=1h"), 422, "parameter"),
            (post("{}", query: "?ttl="), 422, "parameter"), (post("{}", query: "?ttl=0"), 422, "parameter"),
            (post("{}", query: "?ttl=-1s"), 422, "parameter"), (post("{}", query: "?ttl=soon"), 422, "parameter"),
            (post("{}", query: "?ttl=4294967295.1"), 422, "parameter"),
            (post("{}", query: "?lane=%"), 422, "parameter"),
            (post("{}", fields: ["Content-Length: 2"]), 400, "malformed-request"),
            (post("{}", fields: ["Transfer-Encoding: chunked"]), 400, "malformed-request"),
            ("POST /v1/events HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "transfer-coding"),
            ("POST /v1/events HTTP/2.0\r\n\r\n", 505, "http-version"), ("nonsense\n", 400, "malformed-request"),
            (
                "POST /v1/events HTTP/1.1\r\nContent-Length: 1048577\r\nExpect: 100-continue\r\n\r\n", 413,
                "request-too-large"
            ),
            ("POST /v1/events HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n", 413, "request-too-large"),
        ] as [(String, Int, String)])
    func refuses(_ request: String, status: Int, problem: String) throws {
        var client = HTTPClient(SessionRig())
        let answer = try answer(request, &client)
        #expect(answer.status == status && answer.problem == problem)
        #expect(client.rig.stored.isEmpty)
        switch status {
        case 405: #expect(answer.head.fields["allow"] != nil)
        case 415: #expect(answer.json?["detail"]?.string?.contains("application/x-ndjson") == true)
        default: break
        }
        #expect(client.session.isFinished == !answer.head.keepsAlive)
    }

    @Test func refusesWhatIsTooLarge() throws {
        let head = "POST /v1/events HTTP/1.1\r\nA: " + String(repeating: "x", count: 17_000)
        try refuses(head, status: 431, problem: "head-too-large")
        let event = "{\"a\":\"" + String(repeating: "x", count: 262_137) + "\"}"
        try refuses(post(event), status: 413, problem: "event-too-large")
        let events = "[" + String(repeating: "{},", count: 65_536) + "{}]"
        try refuses(post(events), status: 413, problem: "request-too-large")
        #expect(try answer(post(String(event.dropLast(3)) + "\"}")).status == 202)
    }

    @Test(arguments: [Refusal.Reason.full, .diskSlow, .diskError, .stopping])
    func refusesWithATimeToRetryWhatTheQueueDoesNotTake(_ reason: Refusal.Reason) throws {
        var client = HTTPClient(SessionRig())
        client.rig.admission.refusal = Refusal(reason, logs: [.normal, .bulk], detail: "why", retryAfterSeconds: 7)
        let refused = try answer(post("{}", fields: ["Expect: 100-continue"]), &client)
        #expect(refused.status == 503 && refused.json?["detail"]?.string == "why")
        #expect(refused.head.fields["retry-after"]?.text == "7")
        var other = HTTPClient(client.rig)
        #expect(try answer(post("{}", query: "?lane=urgent"), &other).status == 202)
    }

    @Test func tellsThatACommitWasRefused() throws {
        var client = HTTPClient(SessionRig())
        _ = client.feed(post("{}") + post("x") + post("{}"))
        let settlement = client.rig.refuse(Refusal(.diskError, detail: "EIO", retryAfterSeconds: 9))
        let found = try answers(in: client.settle(settlement))
        #expect(found.map(\.status) == [503, 400, 503])
        #expect(found[0].head.fields["retry-after"]?.text == "9")
        #expect(try answer(post("{}"), &client).status == 202)
    }

    @Test func answersPipelinedRequestsInOrder() throws {
        var client = HTTPClient(SessionRig())
        var text = client.feed(post("{}") + "GET /livez HTTP/1.1\r\n\r\n" + post("[{},{}]"))
        #expect(text == "")
        text = client.settle(client.rig.commit())
        let found = try answers(in: text)
        #expect(found.map(\.status) == [202, 200, 202])
        #expect(
            found[2].json?["first"]?.string == "000000000000abcd-2"
                && found[2].json?["last"]?.string == "000000000000abcd-3")
        let many = (0..<40).map { _ in post("{}") }.joined()
        #expect(client.feed(many) == "")
        let first = try answers(in: client.settle(client.rig.commit())).count
        #expect(first == 32)
        #expect(client.feed("") == "")
        #expect(try answers(in: client.settle(client.rig.commit())).count == 8)
    }

    @Test func tellsTheClientToGoOnOnlyWhereTheBodyIsRead() throws {
        var client = HTTPClient(SessionRig())
        let request = post("{}", fields: ["Expect: 100-continue"])
        #expect(client.feed(String(request.dropLast(2))) == "HTTP/1.1 100 Continue\r\n\r\n")
        #expect(client.feed("{}") == "")
        #expect(try answers(in: client.settle(client.rig.commit())).map(\.status) == [202])
        #expect(try answers(in: client.feed(request) + client.settle(client.rig.commit())).map(\.status) == [202])
    }

    @Test func closesWhenAsked() throws {
        var client = HTTPClient(SessionRig())
        #expect(try !answer(post("{}", fields: ["Connection: close"]), &client).head.keepsAlive)
        #expect(client.session.isFinished)
        var old = HTTPClient(SessionRig())
        #expect(try !answer(post("{}").replacing("HTTP/1.1", with: "HTTP/1.0"), &old).head.keepsAlive)
        var early = HTTPClient(SessionRig())
        let text = early.feed(String(post("{}").dropLast()), hasEnded: true)
        #expect(try answers(in: text).map(\.status) == [400])
        #expect(early.session.isFinished && !early.rig.admission.hasEvents)
        var halfClosed = HTTPClient(SessionRig())
        #expect(halfClosed.feed(post("{}"), hasEnded: true) == "")
        #expect(try answers(in: halfClosed.settle(halfClosed.rig.commit())).map(\.status) == [202])
        #expect(halfClosed.session.isFinished)
    }

    @Test func servesHealth() throws {
        var client = HTTPClient(SessionRig())
        #expect(try answer("GET /livez HTTP/1.1\r\n\r\n", &client).status == 200)
        #expect(try answer("GET /readyz HTTP/1.1\r\n\r\n", &client).status == 200)
        client.rig.admission.refusal = Refusal(.diskError, detail: "EIO", retryAfterSeconds: 5)
        #expect(try answer("GET /livez HTTP/1.1\r\n\r\n", &client).status == 200)
        #expect(try answer("GET /readyz HTTP/1.1\r\n\r\n", &client).status == 503)
        #expect(client.feed("HEAD /livez HTTP/1.1\r\n\r\n").hasSuffix("\r\n\r\n"))
    }

    @Test func givesTheSameAnswersHoweverTheInputIsCut() throws {
        let chunked =
            "POST /v1/events HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[{}\r\n4;x\r\n,{}]\r\n0\r\n\r\n"
        let text = Array((post("{\"a\":1}") + chunked + post("{") + post("{}", fields: ["Connection: close"])).utf8)
        var whole = HTTPClient(SessionRig())
        let expected = whole.feed(text) + whole.settle(whole.rig.commit())
        #expect(try answers(in: expected).map(\.status) == [202, 202, 400, 202])
        for cut in 0...text.count {
            var client = HTTPClient(SessionRig())
            var found = client.feed(Array(text[..<cut])) + client.feed(Array(text[cut...]))
            found += client.settle(client.rig.commit())
            #expect(found == expected, "cut at \(cut)")
        }
    }

    @Test(arguments: [UInt64(21), 4_711])
    func neverTrapsAndNeverTakesAHalfOnRandomDamage(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let text = Array((post("[{\"a\":1},{\"b\":[2]}]") + post("{}\n{}\n", type: "application/x-ndjson")).utf8)
        for round in 0..<400 {
            var damaged = text
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            var client = HTTPClient(SessionRig())
            let cut = Int.random(in: 0...damaged.count, using: &random)
            var found = client.feed(Array(damaged[..<cut])) + client.feed(Array(damaged[cut...]), hasEnded: true)
            found += client.settle(client.rig.commit())
            let accepted = try answers(in: found).compactMap { $0.status == 202 ? $0.json?["accepted"]?.integer : nil }
            #expect(accepted.reduce(0, +) == Int64(client.rig.stored.count), "seed \(seed) round \(round)")
        }
    }
}

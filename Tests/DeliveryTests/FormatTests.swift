import Bytes
import Gates
import JSON
import Queue
import Reachability
import Testing
import Time

@testable import Delivery

/// The body that a format makes of events.
private func body(
    _ format: DestinationSettings.Format, _ events: [String], adding: [DestinationSettings.Member] = [],
    gate: Gate? = nil, source: String = "/till/7", type: String = "event"
) throws -> String {
    var settings = DestinationSettings(name: "main", url: try DestinationURL("https://a/"))
    settings.format = format
    settings.enrichWith = adding
    settings.cloudEventsSource = source
    settings.cloudEventsType = type
    let layout = format.layout.init(settings)
    var enrichment = Enrichment(adding, named: format.layout.name)
    var body: [UInt8] = []
    for (index, event) in events.enumerated() {
        let facts = Enrichment.Facts(
            gate: gate, connectionType: .cellular, sentConnectionType: .wifi, epoch: 0xABC,
            sequence: UInt64(index + 42), acceptedAt: WallTime(milliseconds: 951_782_400_007))
        layout.append(Array(event.utf8).span, facts, &enrichment, isFirst: index == 0, to: &body)
    }
    layout.close(&body)
    return body.text
}

struct CloudEventsTests {
    private static let all = DestinationSettings.Member.allCases
    private static let attributes =
        "\"wasqueued\":\"true\",\"queuereason\":\"connectivity\",\"networktype\":\"cellular\","
        + "\"sentnetworktype\":\"wifi\",\"acceptedat\":\"2000-02-29T00:00:00.007Z\""

    @Test func aPlainEventBecomesTheData() throws {
        #expect(
            try body(.cloudevents, ["{\"a\":\n1e400}"], adding: Self.all, gate: .connectivity)
                == "{\"specversion\":\"1.0\",\"source\":\"/till/7\",\"type\":\"event\",\"id\":\"0000000000000abc-42\","
                + "\"datacontenttype\":\"application/json\",\"data\":{\"a\":\n1e400},\(Self.attributes)}")
    }

    @Test(arguments: [
        "{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"s\",\"type\":\"t\",\"data\":[1.0]}",
        "{ \"type\":\"t\" , \"s\\u006furce\":\"\\\"\",\"id\":\"\\u0031\",\"subject\":\"\",\"specversion\": \"1.0\" }",
    ])
    func aCloudEventGoesAsItCame(event: String) throws {
        #expect(try body(.cloudevents, [event]) == event)
        #expect(
            try body(.cloudevents, [event], adding: Self.all, gate: .connectivity)
                == event.dropLast() + ",\(Self.attributes)}")
    }

    @Test(arguments: [
        "{\"specversion\":\"0.3\",\"id\":\"7\",\"source\":\"s\",\"type\":\"t\"}",
        "{\"specversion\":\"1.0\",\"id\":7,\"source\":\"s\",\"type\":\"t\"}",
        "{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"\",\"type\":\"t\"}",
        "{\"specversion\":\"1.0\",\"id\":\"7\",\"type\":\"t\"}",
        "{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"s\",\"type\":\"t\",\"id\":\"8\"}",
        "{}",
    ])
    func whatIsNoneIsWrapped(event: String) throws {
        let value = try JSONValue(parsing: Array(try body(.cloudevents, [event]).utf8))
        #expect(value.members?.map(\.name) == ["specversion", "source", "type", "id", "datacontenttype", "data"])
        #expect(value["data"] == (try JSONValue(parsing: Array(event.utf8))))
    }

    @Test func attributesThatAreThereAreLeftAlone() throws {
        let event =
            "{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"s\",\"type\":\"t\",\"wasqueued\":\"no\","
            + "\"network\\u0074ype\":\"\"}"
        #expect(
            try body(.cloudevents, [event], adding: [.wasQueued, .queueReason, .connectionType], gate: .paused)
                == event.dropLast() + ",\"queuereason\":\"paused\"}")
    }

    @Test func sourceAndTypeAreQuoted() throws {
        let value = try JSONValue(parsing: Array(try body(.cloudevents, ["{}"], source: "a\"\\", type: "ü\n").utf8))
        #expect(value["source"]?.string == "a\"\\")
        #expect(value["type"]?.string == "ü\n")
    }
}

struct TealiumTests {
    @Test func oneEventGoesAsItIs() throws {
        #expect(try body(.tealium, ["{ \"a\" :1}"]) == "{ \"a\" :1}")
    }

    @Test(arguments: [
        (["{\"v\":\"a\",\"e\":1}", "{\"v\":\"a\",\"e\":2}"], "{\"v\":\"a\"}", ["{\"e\":1}", "{\"e\":2}"]),
        // What looks shared but differs in one stays with each.
        (
            ["{\"v\":1,\"w\":1}", "{\"v\":1,\"w\":1}", "{\"v\":2,\"w\":1}"], "{\"w\":1}",
            ["{\"v\":1}", "{\"v\":1}", "{\"v\":2}"]
        ),
        // One that a later event lacks, and one that the first lacks.
        (["{\"v\":1}", "{\"w\":1}"], "{}", ["{\"v\":1}", "{\"w\":1}"]),
        // The same number in other bytes may be another to the collector.
        (["{\"v\":1}", "{\"v\":1.0}"], "{}", ["{\"v\":1}", "{\"v\":1.0}"]),
        // A name that stands twice, also spelled with escapes.
        (["{\"v\":1,\"v\":2}", "{\"v\":1}"], "{}", ["{\"v\":1,\"v\":2}", "{\"v\":1}"]),
        (["{\"v\":1}", "{\"v\":1,\"\\u0076\":2}"], "{}", ["{\"v\":1}", "{\"v\":1,\"\\u0076\":2}"]),
        (["{\"\\u0076\":1}", "{\"v\":1}"], "{\"\\u0076\":1}", ["{}", "{}"]),
        // What is not shared keeps its bytes.
        (
            ["{\"a\" :\n[1, 2],\"s\":{} , \"b\":\"\\n\"}", "{\"s\":{},\"a\":0}"], "{\"s\":{}}",
            ["{\"a\" :\n[1, 2],\"b\":\"\\n\"}", "{\"a\":0}"]
        ),
    ])
    func onlyWhatAllHaveIsShared(events: [String], shared: String, rest: [String]) throws {
        #expect(
            try body(.tealium, events) == "{\"shared\":\(shared),\"events\":[\(rest.joined(separator: ","))]}")
    }

    @Test func whatIsAddedIsSharedToo() throws {
        #expect(
            try body(.tealium, ["{\"n\":1}", "{\"n\":2}"], adding: [.connectionType, .eventID])
                == "{\"shared\":{\"network_connection_type\":\"cellular\"},\"events\":["
                + "{\"n\":1,\"event_id\":\"0000000000000abc-42\"},{\"n\":2,\"event_id\":\"0000000000000abc-43\"}]}")
    }

    @Test func manyMembersAreNotCompared() throws {
        let large = "{" + (0..<257).map { "\"m\($0)\":0" }.joined(separator: ",") + "}"
        #expect(
            try body(.tealium, ["{\"m1\":0}", large])
                == "{\"shared\":{},\"events\":[{\"m1\":0},\(large)]}")
    }

    /// What each event means is what `shared` and its own members say together.
    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6]) func everyEventKeepsItsValues(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for round in 0..<40 {
            let events = (0..<Int.random(in: 2...4, using: &random)).map { _ in
                let members = (0..<Int.random(in: 0...5, using: &random)).map { _ in
                    let name = ["a", "b", "\\u0061", "c", "d"].randomElement(using: &random) ?? ""
                    return "\"\(name)\":\(Int.random(in: 0...1, using: &random))"
                }
                return "{" + members.joined(separator: ",") + "}"
            }
            let bulk = try JSONValue(parsing: Array(try body(.tealium, events).utf8))
            let shared = Self.values(bulk["shared"])
            let rest = (bulk["events"]?.array ?? []).map { Self.values($0) }
            let before = try events.map { Self.values(try JSONValue(parsing: Array($0.utf8))) }
            #expect(rest.map { $0.merging(shared) { own, _ in own } } == before, "seed \(seed), round \(round)")
            #expect(rest.map { $0.merging(shared) { _, shared in shared } } == before, "seed \(seed), round \(round)")
        }
    }

    /// As most readers take them: of members with one name the last.
    private static func values(_ object: JSONValue?) -> [String: JSONValue] {
        Dictionary((object?.members ?? []).map { ($0.name, $0.value) }) { _, last in last }
    }

    @Test(arguments: [
        ("https://c/", 1, "/event"), ("https://c", 2, "/bulk-event"),
        ("https://c/v3/collect/", 2, "/v3/collect/bulk-event"),
        ("https://c/event", 1, "/event"), ("https://c/event/", 2, "/bulk-event"), ("https://c/bulk-event", 1, "/event"),
        ("https://c/event?a=/b", 2, "/bulk-event?a=/b"), ("https://c/events", 1, "/events/event"),
    ])
    func theNumberOfEventsChoosesThePath(url: String, events: Int, path: String) throws {
        #expect(Tealium.url(try DestinationURL(url), events: events).path == path)
    }

    @Test func anErrorFieldRefusesTheRequest() {
        func answer(_ status: Int, _ fields: [HeaderField]) -> TransportAnswer {
            TransportAnswer(status: status, headers: fields, isVerifiedPeer: true)
        }
        let field = HeaderField(name: "x-error", value: "")
        #expect(Tealium.isRefusal(answer(200, [field])))
        #expect(!Tealium.isRefusal(answer(204, [])))
        #expect(!Tealium.isRefusal(answer(503, [field])))
        #expect(!JSONArray.isRefusal(answer(200, [field])))
    }
}

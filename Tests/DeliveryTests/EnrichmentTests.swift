import Bytes
import Gates
import JSON
import Reachability
import Testing
import Time

@testable import Delivery

struct EnrichmentTests {
    private static let all = DestinationSettings.Member.allCases

    private func facts(_ gate: Gate?, acceptedAt: WallTime? = WallTime(milliseconds: 951_782_400_007))
        -> Enrichment.Facts
    {
        Enrichment.Facts(
            gate: gate, connectionType: .cellular, sentConnectionType: .wifi, epoch: 0xABC, sequence: 42,
            acceptedAt: acceptedAt)
    }

    private func enriched(
        _ event: String, _ members: [DestinationSettings.Member], _ gate: Gate? = .connectivity,
        acceptedAt: WallTime? = WallTime(milliseconds: 951_782_400_007)
    ) -> String {
        var enrichment = Enrichment(members)
        var body: [UInt8] = []
        enrichment.append(Array(event.utf8).span, facts(gate, acceptedAt: acceptedAt), to: &body)
        return body.text
    }

    @Test func addsEveryMemberInOrder() {
        #expect(
            enriched("{\"a\":1}", Self.all)
                == "{\"a\":1,\"was_queued\":\"true\",\"queue_reason\":\"connectivity\","
                + "\"network_connection_type\":\"cellular\",\"sent_connection_type\":\"wifi\","
                + "\"event_id\":\"0000000000000abc-42\",\"accepted_at\":\"2000-02-29T00:00:00.007Z\"}")
    }

    @Test func leavesOutWhatIsNotSo() {
        #expect(enriched("{\"a\":1}", [.wasQueued, .queueReason], nil) == "{\"a\":1}")
        #expect(enriched("{\"a\":1}", [.acceptedAt], nil, acceptedAt: nil) == "{\"a\":1}")
        #expect(enriched("{}", [.wasQueued, .acceptedAt], .paused, acceptedAt: nil) == "{\"was_queued\":\"true\"}")
    }

    @Test(arguments: [
        ("{}", "{\"was_queued\":\"true\"}"),
        (" {\n} ", " {\n\"was_queued\":\"true\"} "),
        ("{\"a\":{}}", "{\"a\":{},\"was_queued\":\"true\"}"),
        (
            "{\"a\" : [ \"}\" , {\"was_queued\":1} ] }\n",
            "{\"a\" : [ \"}\" , {\"was_queued\":1} ] ,\"was_queued\":\"true\"}\n"
        ),
        ("{\"was_queued\":false}", "{\"was_queued\":false}"),
        ("{\"was\\u005fqueued\":null,\"b\":\"\\\"}\"}", "{\"was\\u005fqueued\":null,\"b\":\"\\\"}\"}"),
        ("{\"was_queued \":1}", "{\"was_queued \":1,\"was_queued\":\"true\"}"),
        ("{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2,\"was_queued\":\"true\"}"),
        ("{\"n\":1e400}", "{\"n\":1e400,\"was_queued\":\"true\"}"),
        ("{\"\":\"\\ud800\"}", "{\"\":\"\\ud800\",\"was_queued\":\"true\"}"),
    ])
    func splicesBeforeTheClosingBrace(event: String, expected: String) {
        #expect(enriched(event, [.wasQueued]) == expected)
    }

    @Test func eachNameIsGuarded() throws {
        for member in Self.all {
            let event = "{\"\(member.rawValue)\":[1]}"
            #expect(enriched(event, [member]) == event)
            let others = try JSONValue(parsing: Array(enriched(event, Self.all).utf8))
            #expect(others.members?.count == Self.all.count)
            #expect(others[member.rawValue] == .array([.number("1")]))
        }
    }

    @Test func cachedPrefixesFollowTheirSources() throws {
        var enrichment = Enrichment([.eventID, .acceptedAt])
        for (epoch, time) in [(UInt64(1), Int64(-1)), (2, 0), (2, 999), (1, 1_000), (1, 61_005)] {
            var body: [UInt8] = []
            let wall = WallTime(milliseconds: time)
            let facts = Enrichment.Facts(
                gate: nil, connectionType: .none, sentConnectionType: .none, epoch: epoch, sequence: 7, acceptedAt: wall
            )
            enrichment.append(Array("{}".utf8).span, facts, to: &body)
            let value = try JSONValue(parsing: body)
            #expect(value["event_id"]?.string == "000000000000000\(epoch)-7")
            #expect(value["accepted_at"]?.string == wall.rfc3339.text)
        }
    }

    /// Of random events the output parses, begins with the event's own bytes, and adds only what is named.
    @Test(arguments: [UInt64(1), 2, 3, 4]) func randomEventsKeepTheirBytes(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var enrichment = Enrichment(Self.all)
        let everything = [.allMembers, facts(.restart), facts(nil, acceptedAt: nil)].compactMap { $0 }
        for round in 0..<60 {
            let event = RandomJSON.object(&random, depth: 0)
            let facts = everything[round % everything.count]
            var body: [UInt8] = []
            enrichment.append(event.span, facts, to: &body)
            let before = try JSONValue(parsing: event)
            let after = try JSONValue(parsing: body)
            let brace = event.lastIndex(of: UInt8(ascii: "}")) ?? 0
            #expect(Array(body.prefix(brace)) == Array(event.prefix(brace)), "seed \(seed), round \(round)")
            #expect(Array(body.suffix(event.count - brace)) == Array(event.suffix(event.count - brace)))
            let old = before.members ?? []
            let new = after.members ?? []
            #expect(Array(new.prefix(old.count)) == old, "seed \(seed), round \(round)")
            let added = new.dropFirst(old.count).map(\.name)
            let expected = Self.all.map(\.rawValue).filter { name in
                !old.contains { $0.name == name }
                    && (facts.gate != nil || !["was_queued", "queue_reason"].contains(name))
                    && (facts.acceptedAt != nil || name != "accepted_at")
            }
            #expect(added == expected, "seed \(seed), round \(round)")
        }
    }
}

extension Enrichment.Facts {
    fileprivate static let allMembers = Enrichment.Facts(
        gate: .storage, connectionType: .none, sentConnectionType: .vpn, epoch: .max, sequence: .max,
        acceptedAt: WallTime(milliseconds: 1_764_486_278_123))
}

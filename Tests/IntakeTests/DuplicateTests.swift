import Bytes
import JSON
import Queue
import Testing

@testable import Intake

private func cloudEvent(_ id: String, source: String = "/a", data: Int = 0) -> String {
    #"{"specversion":"1.0","type":"t","source":"\#(source)","id":"\#(id)","data":\#(data)}"#
}

private func batch(_ events: [String]) -> String {
    post("[" + events.joined(separator: ",") + "]", type: "application/cloudevents-batch+json")
}

private func named(_ name: String, _ body: String = "[{\"n\":1},{\"n\":2}]") -> String {
    post(body, fields: ["Idempotency-Key: \(name)"])
}

/// What an answer tells: status, accepted, duplicates.
private func counts(_ text: String) throws -> [[Int64]] {
    try answers(in: text).map { answer in
        let json = try #require(answer.json)
        return [Int64(answer.status), json["accepted"]?.integer ?? -1, json["duplicates"]?.integer ?? -1]
    }
}

struct DuplicateTests {
    /// Sends a request, has it committed, and tells what came of it.
    private func exchange(_ request: String, _ client: inout HTTPClient) throws -> [Int64] {
        let found = try counts(client.feed(request) + client.settle(client.rig.commit()))
        #expect(found.count == 1)
        return try #require(found.first)
    }

    @Test func aCloudEventIsKnownBySourceAndId() throws {
        var client = HTTPClient(SessionRig())
        #expect(try exchange(batch([cloudEvent("1"), cloudEvent("2")]), &client) == [202, 2, 0])
        #expect(try exchange(batch([cloudEvent("1", data: 7)]), &client) == [202, 0, 1])
        #expect(try exchange(batch([cloudEvent("\\u0031"), cloudEvent("1", source: "/b")]), &client) == [202, 1, 1])
        // Where one value ends and the other begins matters.
        #expect(try exchange(batch([cloudEvent("12", source: "/"), cloudEvent("2", source: "/1")]), &client)[1] == 2)
        #expect(try exchange(batch([cloudEvent("3"), cloudEvent("3")]), &client) == [202, 1, 1])
        let single = post(cloudEvent("3"), type: "application/cloudevents+json")
        #expect(try exchange(single, &client) == [202, 0, 1])
        #expect(client.rig.stored.count == 6)
        #expect(client.rig.turn.accepted == 6 && client.rig.turn.duplicates == 4)
        // As plain JSON it names nothing.
        #expect(try exchange(post(cloudEvent("1")), &client) == [202, 1, 0])
    }

    @Test func aCloudEventOfAnotherUserIsAnother() throws {
        var client = HTTPClient(SessionRig())
        for user in [1_000, 1_001] as [UInt32] {
            client.rig.turn.user = user
            #expect(try exchange(batch([cloudEvent("1")]), &client) == [202, 1, 0])
            #expect(try exchange(batch([cloudEvent("1")]), &client) == [202, 0, 1])
        }
        #expect(client.rig.stored.count == 2)
    }

    @Test func idsThatDifferInALoneSurrogateAreTwo() throws {
        let ids = ["\\ud800", "\\ud801", "\\udfff", "\\udc00\\ud800", "\\ufffd", "\\ud83d\\ude00"]
        var client = HTTPClient(SessionRig())
        for id in ids { #expect(try exchange(batch([cloudEvent(id)]), &client) == [202, 1, 0], "\(id)") }
        for id in ids + ["\u{FFFD}", "\u{1F600}"] {
            #expect(try exchange(batch([cloudEvent(id)]), &client) == [202, 0, 1], "\(id)")
        }
    }

    @Test(arguments: [#""id":"1","id":"2""#, #""id":"1","\u0069d":"1""#, #""id":"1","source":"/b""#])
    func aCloudEventThatIsNamedTwiceIsNoRepeat(_ members: String) throws {
        var client = HTTPClient(SessionRig())
        let event = #"{"specversion":"1.0","type":"t","source":"/a",\#(members)}"#
        for _ in 0..<2 { #expect(try exchange(batch([event, event]), &client) == [202, 2, 0]) }
        #expect(try exchange(batch([cloudEvent("1"), cloudEvent("2")]), &client) == [202, 2, 0])
        #expect(client.rig.keys.prefix(4).allSatisfy { $0 == .none })
    }

    @Test(arguments: ["?lane=urgent", "?consent=ads", "?ttl=1h", ""])
    func theSameNameWithAnotherWishIsRefused(_ query: String) throws {
        var client = HTTPClient(SessionRig())
        let type = query.isEmpty ? "application/x-ndjson" : "application/json"
        let request = { (query: String, type: String) in
            post("{}", type: type, query: query, fields: ["Idempotency-Key: k"])
        }
        #expect(try exchange(request(query, type), &client) == [202, 1, 0])
        #expect(try exchange(request("", "application/json"), &client)[0] == 422)
        #expect(try exchange(request(query, type), &client) == [202, 0, 1])
    }

    /// After a purge nobody can tell which of them are still there.
    @Test(arguments: [batch([cloudEvent("1"), cloudEvent("2")]), named("k")])
    func whatIsForgottenIsNew(_ request: String) throws {
        var client = HTTPClient(SessionRig())
        for _ in 0..<2 {
            #expect(try exchange(request, &client) == [202, 2, 0])
            #expect(try exchange(request, &client) == [202, 0, 2])
            client.rig.admission.forgetRecent()
        }
        #expect(client.rig.stored.count == 4)
    }

    @Test func itForgetsTheOldestOnceItIsFullAgain() throws {
        let keys = (0...UInt64(RecentEvents.limit + 1)).map { DuplicateKey(low: $0 + 1, high: 9) }
        var recent = RecentEvents(seed: KeyedHash.Seed(low: 3, high: 4), keys: keys)
        recent.forget()
        #expect(keys.allSatisfy { recent.familiarity($0) == .new })
        for (index, key) in keys.enumerated() { recent.take(key, at: Position(ordinal: 1, batch: 0, index: index)) }
        recent.settle(Settlement(ordinal: 1, outcomes: [.durable(epoch: epoch, first: 1)]))
        #expect(keys.prefix(2).allSatisfy { recent.familiarity($0) == .new })
        #expect(keys.dropFirst(2).allSatisfy { recent.familiarity($0) == .isDurable })
    }

    @Test func aRequestIsKnownByItsNameAndUser() throws {
        var client = HTTPClient(SessionRig())
        client.rig.turn.user = 1_000
        #expect(try exchange(named("\"k\""), &client) == [202, 2, 0])
        #expect(try exchange(named("\"k\""), &client) == [202, 0, 2])
        #expect(try exchange(named("k"), &client) == [202, 2, 0])
        client.rig.turn.user = 1_001
        #expect(try exchange(named("\"k\""), &client) == [202, 2, 0])
        #expect(client.rig.stored.count == 6 && client.rig.turn.duplicates == 2)
    }

    @Test func anotherRequestOfTheSameNameIsRefused() throws {
        var client = HTTPClient(SessionRig())
        #expect(try exchange(named("k"), &client) == [202, 2, 0])
        for other in ["[{\"n\":1},{\"n\":3}]", "{\"n\":1}"] {
            #expect(try exchange(named("k", other), &client)[0] == 422)
        }
        for fields in [["Idempotency-Key:"], ["Idempotency-Key: a", "Idempotency-Key: b"]] {
            let text = client.feed(post("{}", fields: fields))
            #expect(try answers(in: text).map(\.problem) == ["idempotency-key"])
            client = HTTPClient(client.rig)
        }
        #expect(client.rig.stored.count == 2 && client.rig.turn.refused == 4)
    }

    @Test(arguments: [batch([cloudEvent("1"), cloudEvent("2")]), named("k")])
    func aRepeatWaitsForTheOriginal(_ request: String) throws {
        let rig = SessionRig()
        var first = HTTPClient(rig)
        var second = HTTPClient(rig)
        #expect(first.feed(request) == "" && second.feed(request + "GET /livez HTTP/1.1\r\n\r\n") == "")
        let settlement = rig.commit()
        #expect(try counts(first.settle(settlement)) == [[202, 2, 0]])
        #expect(second.settle(settlement) == "")
        #expect(try answers(in: second.feed("")).map(\.status) == [202, 200])
        #expect(rig.stored.count == 2 && rig.turn.duplicates == 2)
    }

    @Test(arguments: [batch([cloudEvent("1"), cloudEvent("2")]), named("k")], [1, 7, 1_000])
    func aRepeatIsTakenWhereTheOriginalIsRefused(_ request: String, pieces: Int) throws {
        let rig = SessionRig()
        var first = HTTPClient(rig)
        var second = HTTPClient(rig)
        #expect(first.feed(request) == "")
        var rest = Array(request.utf8)[...]
        while !rest.isEmpty { #expect(second.feed(Array(rest.popPrefix(pieces))) == "") }
        let refused = rig.refuse(Refusal(.full, detail: "full", retryAfterSeconds: 5))
        #expect(try answers(in: first.settle(refused)).map(\.status) == [503])
        #expect(second.settle(refused) == "" && second.feed("") == "")
        #expect(try counts(second.settle(rig.commit())) == [[202, 2, 0]])
        #expect(rig.stored.count == 2 && rig.turn.duplicates == 0)
    }

    @Test func itForgetsTheOldestOnly() throws {
        let seed = KeyedHash.Seed(low: 3, high: 4)
        let limit = RecentEvents.limit
        let keys = (0...UInt64(limit)).map { DuplicateKey(low: $0 + 1, high: 9) }
        var recent = RecentEvents(seed: seed, keys: keys)
        #expect(recent.familiarity(keys[0]) == .new)
        #expect(keys.dropFirst().allSatisfy { recent.familiarity($0) == .isDurable })
        recent = RecentEvents(seed: seed, keys: keys + Array(keys.suffix(10)))
        #expect(recent.familiarity(keys[1]) == .isDurable)
        #expect(recent.familiarity(DuplicateKey(low: 2, high: 8)) == .differs)
    }

    @Test func theKeyIsStoredAndKnownAfterAStart() throws {
        let seed = KeyedHash.Seed(low: 3, high: 4)
        let rig = SessionRig(recent: RecentEvents(seed: seed))
        var client = HTTPClient(rig)
        for request in [batch([cloudEvent("1")]), named("k"), post("{}")] { _ = try exchange(request, &client) }
        #expect(rig.keys.count == 4 && rig.keys.last == DuplicateKey.none && Set(rig.keys).count == 4)
        let later = SessionRig(recent: RecentEvents(seed: seed, keys: Array(rig.keys.dropLast())))
        client = HTTPClient(later)
        #expect(try exchange(batch([cloudEvent("1")]), &client) == [202, 0, 1])
        #expect(try exchange(named("k"), &client) == [202, 0, 2])
        let other = SessionRig(recent: RecentEvents(seed: KeyedHash.Seed(low: 3, high: 5), keys: rig.keys))
        client = HTTPClient(other)
        #expect(try exchange(named("k"), &client) == [202, 2, 0])
    }

    /// A crash may keep the first of a request's events alone, none of which was answered.
    @Test func whatAStartFoundOfARequestIsCompleted() throws {
        let seed = KeyedHash.Seed(low: 3, high: 4)
        let rig = SessionRig(recent: RecentEvents(seed: seed))
        var client = HTTPClient(rig)
        _ = try exchange(named("k"), &client)
        let later = SessionRig(recent: RecentEvents(seed: seed, keys: [rig.keys[0]]))
        client = HTTPClient(later)
        #expect(try exchange(named("k"), &client) == [202, 1, 1])
        #expect(later.stored.map(\.event) == ["{\"n\":2}"])
    }

    @Test func theServerWakesARepeat() throws {
        let rig = try ServerRig()
        rig.disk = .stuck
        let first = try rig.connect()
        let second = try rig.connect()
        first.send(named("k"))
        try rig.turn { rig.admission.hasEvents }
        second.send(named("k"))
        second.endOutput()
        try rig.turn()
        #expect(second.text == "")
        rig.disk = .durable
        try rig.turn { second.hasEnded }
        #expect(try counts(first.text) == [[202, 2, 0]] && counts(second.text) == [[202, 0, 2]])
        #expect(rig.server.statistics.duplicates == 2 && rig.server.statistics.accepted == 2)
    }
}

extension ArraySlice<UInt8> {
    /// Takes off the first bytes.
    fileprivate mutating func popPrefix(_ count: Int) -> ArraySlice {
        defer { self = dropFirst(count) }
        return prefix(count)
    }
}

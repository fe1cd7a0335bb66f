import Bytes
import Gates
import HTTP1
import Intake
import JSON
import Queue
import Reachability
import Testing

/// Consent at the door: where events of a category go, and why they are refused.
struct ConsentTests {
    private let onHold = AcceptContext(connectionType: .ethernet, destinations: [("main", .consent)])

    private func post(_ body: String, _ query: String) -> String {
        "POST /v1/events\(query) HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// The status and the problem of an answer.
    private func read(_ answer: String) -> (status: Int, problem: String?) {
        let status = Int(answer.split(separator: " ").dropFirst().first ?? "") ?? 0
        let body = answer.split(separator: "\r\n\r\n", maxSplits: 1).last.map { Array($0.utf8) } ?? []
        let type = (try? JSONValue(parsing: body))?["type"]?.string
        return (status, type.map { String($0.dropFirst("urn:uplinkd:problem:".count)) })
    }

    @Test func anEventOfACategoryGoesToItsLog() {
        let rig = SessionRig()
        var client = HTTPClient(rig)
        #expect(client.feed(post(#"[{"a":1},{"a":2}]"#, "?consent=web-ads2&ttl=1h")) == "")
        #expect(rig.admission.consent.isUsed("web-ads2"))
        #expect(read(client.settle(rig.commit())).status == 202)
        #expect(rig.stored.map(\.log) == [.consent("web-ads2"), .consent("web-ads2")])
        #expect(rig.timesToLive == [3_600, 3_600])
    }

    @Test(arguments: [
        "?consent=", "?consent=Ads", "?consent=a_b", "?consent=a%20b", "?consent=a&consent=a",
        "?consent=123456789012345678901234567890123", "?consent=ads&lane=normal", "?lane=bulk&consent=ads",
    ])
    func whatIsNoCategoryIsRefused(_ query: String) {
        let rig = SessionRig()
        var client = HTTPClient(rig)
        let answer = read(client.feed(post("{}", query)))
        #expect(answer.status == 422 && answer.problem == "parameter")
        #expect(rig.admission.consent.categories.isEmpty && !rig.admission.hasEvents)
    }

    /// The commit that it waits for does not come where what it repeats is refused before.
    @Test func aRepeatOfWhatIsDeniedIsRefusedAsWell() throws {
        let rig = try ServerRig()
        rig.disk = .stuck
        let request = "POST /v1/events?consent=ads HTTP/1.1\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\n{}"
        let first = try rig.connect()
        first.send(request)
        try rig.turn { rig.admission.hasEvents }
        let second = try rig.connect()
        second.send(request)
        var turns = 0
        try rig.turn {
            turns += 1
            return turns > 20
        }
        #expect(first.text.isEmpty && second.text.isEmpty)
        rig.admission.consent = Consent(kept: .whole(["ads": .deny]))
        rig.server.refuseOpen([.consent("ads"): try #require(Refusal("ads", rig.admission.consent))])
        try rig.turn { !first.text.isEmpty && !second.text.isEmpty }
        #expect(read(first.text).status == 403 && read(second.text).status == 403)
        #expect(!rig.admission.hasEvents)
    }

    @Test func whatIsDeniedIsRefusedAndNothingElse() {
        let rig = SessionRig()
        rig.admission.consent = Consent(kept: .whole(["ads": .deny]))
        var client = HTTPClient(rig)
        for body in ["{}", "[]"] {
            let answer = client.feed(post(body, "?consent=ads"))
            #expect(read(answer).status == 403 && read(answer).problem == "consent-denied")
            #expect(!answer.contains("Retry-After"))
            client = HTTPClient(rig)
        }
        _ = client.feed(post("{}", "?consent=other") + post("{}", ""))
        _ = client.settle(rig.commit())
        #expect(rig.stored.map(\.log) == [.consent("other"), .normal])
    }

    /// The state may change while the body comes.
    @Test func aCategoryDeniedMeanwhileIsRefused() {
        let rig = SessionRig()
        var client = HTTPClient(rig)
        #expect(client.feed("POST /v1/events?consent=ads HTTP/1.1\r\nContent-Length: 2\r\n\r\n{") == "")
        rig.admission.consent.ask(.deny, of: "ads")
        #expect(read(client.feed("}")).status == 403)
        #expect(!rig.admission.hasEvents)
    }

    @Test func whatIsBeingPurgedIsToBeTriedAgain() {
        let rig = SessionRig()
        rig.admission.consent.beginPurge("ads")
        var client = HTTPClient(rig)
        let answer = client.feed(post("{}", "?consent=ads"))
        #expect(read(answer).status == 503 && read(answer).problem == "purging")
        #expect(answer.contains("Retry-After: 1"))
    }

    @Test func noMoreCategoriesThanMayBe() {
        let rig = SessionRig()
        var client = HTTPClient(rig)
        for number in 1...Consent.maximumCategories {
            _ = client.feed(post("{}", "?consent=c\(number)"))
            _ = client.settle(rig.commit())
        }
        #expect(rig.stored.count == 64)
        let answer = client.feed(post("{}", "?consent=one-more"))
        #expect(read(answer).status == 422 && read(answer).problem == "too-many-categories")
        #expect(!answer.contains("Retry-After"))
        var other = HTTPClient(rig)
        _ = other.feed(post("{}", "?consent=c7"))
        #expect(read(other.settle(rig.commit())).status == 202)
    }

    @Test func aCategoryThatIsNamedHasItsPlace() {
        let rig = SessionRig()
        rig.admission.consent = Consent(settings: ConsentSettings(named: ["named"]))
        for number in 1..<Consent.maximumCategories {
            #expect(read(HTTPClient.settled(rig, post("{}", "?consent=c\(number)"))).status == 202)
        }
        let answer = read(HTTPClient.settled(rig, post("{}", "?consent=one-more")))
        #expect(answer.status == 422 && answer.problem == "too-many-categories")
        #expect(read(HTTPClient.settled(rig, post("{}", "?consent=named"))).status == 202)
        #expect(rig.stored.last?.log == .consent("named") && rig.stored.count == Consent.maximumCategories)
    }

    /// Where the default denies, clients get no category but those that are named.
    @Test func whatTheDefaultDeniesTakesNoPlace() {
        let rig = SessionRig()
        rig.admission.consent = Consent(settings: ConsentSettings(fallback: .deny, states: ["ads": .allow]))
        for number in 0...Consent.maximumCategories {
            let answer = read(HTTPClient.settled(rig, post("{}", "?consent=c\(number)")))
            #expect(answer.status == 403 && answer.problem == "consent-denied")
        }
        #expect(rig.admission.consent.categories == ["ads"] && !rig.admission.hasEvents)
        rig.admission.consent.use(ConsentSettings())
        #expect(rig.admission.consent.categories.isEmpty)
        #expect(read(HTTPClient.settled(rig, post("{}", "?consent=other"))).status == 202)
    }

    @Test func eventsOnHoldAreStoredWithTheGate() {
        let rig = SessionRig()
        rig.admission.contextOnHold = onHold
        rig.admission.consent = Consent(settings: ConsentSettings(states: ["ads": .hold]))
        var client = HTTPClient(rig)
        for query in ["?consent=ads", "?consent=other", "", "?consent=ads"] { _ = client.feed(post("{}", query)) }
        rig.admission.consent = Consent(settings: ConsentSettings(states: ["other": .hold]))
        for query in ["?consent=ads", "?consent=other", "?consent=new"] { _ = client.feed(post("{}", query)) }
        let batches = rig.admission.seal().batches
        let found = batches.map { "\($0.log.text) \($0.count) \($0.context == onHold)" }
        #expect(
            found == [
                "consent-ads 2 true", "consent-other 1 false", "normal 1 false", "consent-ads 1 false",
                "consent-other 1 true", "consent-new 1 false",
            ])
    }

    @Test func theDefaultHoldsCategoriesThatAreNew() {
        let rig = SessionRig()
        rig.admission.contextOnHold = onHold
        rig.admission.consent = Consent(settings: ConsentSettings(fallback: .hold))
        var client = HTTPClient(rig)
        _ = client.feed(post("{}", "?consent=new") + post("{}", ""))
        let batches = rig.admission.seal().batches
        #expect(batches.map { $0.context == onHold } == [true, false])
        rig.admission.consent = Consent(settings: ConsentSettings(fallback: .deny))
        #expect(read(HTTPClient.fed(rig, post("{}", "?consent=another"))).status == 403)
    }
}

extension HTTPClient {
    fileprivate static func fed(_ rig: SessionRig, _ text: String) -> String {
        var client = HTTPClient(rig)
        return client.feed(text)
    }

    /// What a client that comes anew is answered, now or after a commit.
    fileprivate static func settled(_ rig: SessionRig, _ text: String) -> String {
        var client = HTTPClient(rig)
        let answer = client.feed(text)
        return answer.isEmpty ? client.settle(rig.commit()) : answer
    }
}

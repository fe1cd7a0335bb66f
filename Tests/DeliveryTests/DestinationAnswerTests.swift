import Delivery
import Gates
import Queue
import Reachability
import Testing
import Time

/// What checks and answers do.
struct DestinationAnswerTests {
    private func online(_ change: (inout DestinationSettings) throws -> Void = { _ in }) throws -> Scene {
        try Scene.online {
            $0.flushSpread = .fixed(.zero)
            try change(&$0)
        }
    }

    @Test(arguments: [200, 204, 400, 401, 403, 404, 405, 429, 500, 503])
    func aCheckWithoutEventsIsProvedByAnyAnswer(status: Int) throws {
        var scene = Scene(try Scene.settings { $0.checkURL = try? DestinationURL("https://collector.example/up") })
        scene.tell(.checkDue)
        let request = try #require(scene.flights.first?.request)
        #expect(request.method == .get && request.isCheck && request.body.isEmpty && request.url.path == "/up")
        scene.answer(status)
        #expect(scene.proofs == 1 && scene.checksEnded == 1 && scene.failures.isEmpty)
        #expect(!scene.destination.status.isHeld && !scene.destination.status.isThrottled)
    }

    @Test(arguments: [(302, StateReason.redirect), (407, .proxy), (511, .portal)])
    func aCheckWithoutEventsIsRefusedBy(status: Int, reason: StateReason) throws {
        var scene = Scene(try Scene.settings())
        scene.tell(.checkDue)
        scene.answer(status)
        #expect(scene.proofs == 0 && scene.checksEnded == 1 && scene.failures == [reason])
        #expect(scene.destination.status.lastError?.status == status)
    }

    @Test func aSecretInAnAnswerIsHidden() throws {
        let token = "c2VjcmV0LXRva2Vu"
        var scene = try online {
            $0.token = Array(token.utf8)
            $0.headers = [
                HeaderField(name: "X-Api-Key", value: "k-81739"), HeaderField(name: "X-Site", value: "north-12"),
                HeaderField(name: "Cookie", value: "session=abcdef12; lang=en"),
            ]
        }
        scene.accept(1)
        let echo = "no: Bearer \(token), k-81739, session=abcdef12; lang=en, abcdef12, north-12, \(token.dropLast(3))"
        scene.answer(404, [HeaderField(name: "Location", value: "/login?t=\(token)")], body: echo)
        let error = try #require(scene.destination.status.lastError)
        #expect(error.detail == "no: Bearer ***, ***, ***, ***, north-12, ***")
        #expect(error.location == "/login?t=***")
    }

    @Test func aSecretOfTheProxyOrTheURLIsHidden() throws {
        var scene = try online {
            $0 = DestinationSettings(
                name: "main",
                url: try DestinationURL("https://collector.example/events?sig=q%2Br&code=abcdefgh&site=north"))
            $0.flushSpread = .fixed(.zero)
            $0.headers = [HeaderField(name: "X", value: "y")]
            $0.proxy = DestinationSettings.Proxy(host: "proxy", port: 3_128, user: "us", password: "open sesame")
        }
        scene.accept(1)
        scene.answer(
            404, body: "no: Basic dXM6b3BlbiBzZXNhbWU= open sesame, /events?sig=q%2Br&code=abcdefgh&site=north, q+r")
        #expect(
            scene.destination.status.lastError?.detail
                == "no: Basic *** ***, /events?sig=***&code=***&site=north, ***")
    }

    @Test(arguments: [
        (304, nil, ""), (407, nil, "the proxy wants a user and a password"),
        (407, "me", "the proxy refuses the user and the password"),
    ])
    func anEmptyAnswerSaysNoMoreThanItsStatus(status: Int, user: String?, detail: String) throws {
        var scene = try online { $0.proxy = DestinationSettings.Proxy(host: "proxy", port: 3_128, user: user) }
        scene.accept(1)
        scene.answer(status, body: "")
        #expect(scene.destination.status.lastError?.detail == detail)
        guard case .held(_, status, detail, _) = scene.notices.first else {
            Issue.record("\(scene.notices)")
            return
        }
    }

    @Test func plainHTTPElsewhereCountsOnlyWithItsField() throws {
        let settings = try Scene.settings {
            $0.allowsPlainHTTP = true
            $0.expectHeader = try DestinationSettings.ExpectedHeader("X-Collector: mine")
        }
        for (field, isOurs) in [
            (nil, false), (HeaderField(name: "X-Collector", value: "other"), false),
            (HeaderField(name: "x-collector", value: "mine"), true),
        ] {
            var scene = Scene(settings, waiting: 2)
            scene.tell(.checkDue)
            scene.answer(200, [field].compactMap { $0 }, verified: false)
            #expect(scene.proofs == (isOurs ? 1 : 0) && scene.portals == (isOurs ? 0 : 1))
            #expect(scene.settled[.normal] == (isOurs ? 2 : 0) && scene.checksEnded == 1)
            var idle = Scene(settings)
            idle.tell(.checkDue)
            idle.answer(302, [field].compactMap { $0 }, verified: false)
            #expect(idle.proofs == (isOurs ? 1 : 0) && idle.portals == (isOurs ? 0 : 1))
        }
    }

    /// Since the first time, over tries that got to see none; an answer ends it, but not that of a proxy.
    @Test func sinceWhenACertificateIsRefusedIsKnown() throws {
        var scene = Scene(try Scene.settings())
        func tell(_ outcome: TransportOutcome) {
            if scene.flights.isEmpty { scene.tell(.checkDue) }
            let id = scene.flights.removeFirst().request.id
            scene.tell(.answered(request: id, outcome))
            scene.pass(.seconds(60))
        }
        func answer(_ status: Int) -> TransportOutcome {
            .answer(TransportAnswer(status: status, isVerifiedPeer: true))
        }
        func failure(_ reason: StateReason, isRefused: Bool = false) -> TransportOutcome {
            .failed(TransportFailure(reason: reason, detail: "no", isCertificateRefused: isRefused))
        }
        tell(failure(.tls))
        #expect(scene.destination.status.certificateRefusedSince == nil)
        let first = scene.now
        let refused = failure(.tls, isRefused: true)
        for outcome in [refused, failure(.timeout), answer(407), refused] {
            tell(outcome)
            #expect(scene.destination.status.certificateRefusedSince == first)
        }
        tell(answer(404))
        #expect(scene.destination.status.certificateRefusedSince == nil)
        let next = scene.now
        scene.tell(.reachable(Outage(duration: .zero, cause: .start)))
        scene.accept(1)
        tell(refused)
        #expect(scene.destination.status.certificateRefusedSince == next, "of a batch as of a check")
    }

    @Test func aNewEventNeverCancelsACheck() throws {
        var scene = Scene(try Scene.settings())
        scene.tell(.checkDue)
        let check = scene.flights.first?.request.id
        scene.accept(5)
        scene.pass(.seconds(8))
        scene.accept(5)
        #expect(scene.flights.map(\.request.id) == [check])
        scene.answer(200)
        scene.becomeReachable()
        #expect(scene.flights.map(\.sequences) == [Array(1...10)])
    }

    @Test func becomingReachableCancelsACheckOnce() throws {
        var scene = Scene(try Scene.settings())
        scene.tell(.checkDue)
        scene.becomeReachable()
        #expect(scene.flights.isEmpty && scene.checksEnded == 1)
    }

    @Test func aCheckRidesOnTheRequestInFlight() throws {
        var scene = try online()
        scene.accept(1)
        scene.tell(.pathLost(givingUpRequest: false))
        scene.tell(.checkDue)
        #expect(scene.flights.count == 1)
        scene.answer(200)
        #expect(scene.checksEnded == 2 && scene.proofs == 2)
    }

    @Test func aCheckThatWaitsForTheDiskIsSentWhenTheEventsCome() throws {
        var scene = Scene(try Scene.settings(), waiting: 3)
        scene.holdsReads = true
        scene.tell(.checkDue)
        #expect(scene.flights.isEmpty && scene.reads.count == 1)
        scene.holdsReads = false
        scene.answerReads()
        #expect(scene.flights.map(\.sequences) == [[1, 2, 3]])
    }

    @Test func aCheckDoesNotWaitForADiskThatFails() throws {
        var scene = Scene(try Scene.settings(), waiting: 3)
        scene.holdsReads = true
        scene.tell(.checkDue)
        let read = try #require(scene.reads.last)
        scene.reads.removeLast()
        scene.tell(.readFailed(read: read.id))
        #expect(scene.flights.map(\.request.isCheck) == [true])
    }

    @Test(arguments: [408, 409, 425, 429, 500, 502, 503, 504, 507, 599])
    func requestsForTimeAreGranted(status: Int) throws {
        var scene = try online()
        scene.accept(10)
        scene.accept(20)
        scene.answer(status)
        #expect(scene.failures.isEmpty && scene.portals == 0)
        #expect(scene.destination.status.isThrottled && scene.destination.status.reason == .throttled)
        #expect(scene.destination.gates.current == .destination)
        #expect(scene.destination.status.nextAttempt == scene.now + .seconds(1))
        scene.accept(5)
        #expect(scene.flights.isEmpty)
        scene.pass(.seconds(1))
        #expect(scene.flights.map(\.sequences) == [Array(1...10)])
        #expect(scene.sent.suffix(2).map(\.attempt) == ["1", "2"])
        #expect(Set(scene.sent.suffix(2).map(\.batch)).count == 1)
        scene.drain()
        #expect(scene.settled[.normal] == 35)
        #expect(!scene.destination.status.isThrottled && scene.destination.gates.current == nil)
        #expect(scene.delivered.prefix(10).allSatisfy { !$0.wasQueued })
        #expect(scene.delivered.dropFirst(10).allSatisfy { $0.reason == "destination" })
        #expect(!scene.notices.contains(.released), "it was throttled, not held")
    }

    @Test func retryAfterIsKept() throws {
        var scene = try online()
        scene.accept(3)
        scene.answer(503, [HeaderField(name: "Retry-After", value: "20")])
        scene.pass(.milliseconds(19_990))
        #expect(scene.flights.isEmpty)
        scene.pass(.milliseconds(20_010))
        #expect(scene.flights.count == 1)
    }

    @Test func aCheckLeavesADestinationItsTime() throws {
        var scene = try online()
        scene.accept(3)
        scene.answer(503, [HeaderField(name: "Retry-After", value: "3000")])
        scene.losePath()
        scene.tell(.checkDue)
        #expect(scene.flights.map(\.request.isCheck) == [true])
        scene.answer(200)
        scene.becomeReachable(after: .seconds(3), .ownLink)
        #expect(scene.flights.isEmpty)
        scene.tell(.flush)
        #expect(scene.flights.map(\.sequences) == [[1, 2, 3]])
    }

    @Test func oneRequestFindsOutWhetherAWaitIsOver() throws {
        var scene = try online()
        scene.accept(3)
        scene.accept(3, in: .urgent)
        #expect(scene.flights.count == 2)
        scene.answer(503)
        scene.answer(503)
        scene.pass(.seconds(10))
        #expect(scene.flights.count == 1)
        scene.answer(200)
        #expect(scene.flights.count == 1)
        scene.answer(200)
        #expect(scene.destination.isDrained)
    }

    @Test(arguments: [
        (301, StateReason.redirect), (401, .unauthorized), (403, .unauthorized), (404, .notFound), (407, .proxy),
        (451, .rejected), (501, .rejected), (505, .rejected),
    ])
    func whatNeedsAPersonHolds(status: Int, reason: StateReason) throws {
        var scene = try online()
        scene.accept(12)
        scene.answer(status, [HeaderField(name: "location", value: "https://else.example/")])
        #expect(scene.destination.status.isHeld && scene.destination.status.reason == reason)
        #expect(scene.destination.status.lastError?.status == status)
        #expect(scene.destination.status.lastError?.location == "https://else.example/")
        #expect(scene.destination.status.lastError?.detail == "said \(status)")
        #expect(scene.settled[.normal] == 0 && scene.failures.isEmpty)
        for minutes in [1, 2, 4, 8, 15, 15] {
            scene.pass(.seconds(minutes * 60 * 84 / 100))
            #expect(scene.flights.isEmpty)
            scene.pass(.seconds(minutes * 60 * 32 / 100))
            #expect(scene.flights.count == 1)
            scene.answer(status)
        }
        scene.tell(.resume)
        #expect(scene.flights.map(\.sequences) == [Array(1...10)])
        scene.drain()
        #expect(scene.settled[.normal] == 12 && !scene.destination.status.isHeld)
        let holds = scene.notices.filter { if case .held = $0 { true } else { false } }
        #expect(holds.count == 1 && scene.notices.contains(.released))
    }

    @Test func aNewPathTriesAHoldAtOnce() throws {
        var scene = try online()
        scene.accept(3)
        scene.answer(404)
        scene.losePath()
        scene.tell(.checkDue)
        #expect(scene.flights.map(\.sequences) == [[1, 2, 3]])
        scene.answer(404)
        #expect(scene.proofs == 2 && scene.checksEnded == 2)
        scene.becomeReachable(after: .seconds(3), .ownLink)
        #expect(scene.flights.isEmpty, "this path was tried")
    }

    @Test func portalKeepsEverything() throws {
        var scene = try online()
        scene.accept(3)
        scene.answer(200, verified: false)
        #expect(scene.portals == 1 && scene.settled[.normal] == 0)
        #expect(scene.destination.gates.current == .connectivity)
        scene.pass(.seconds(100))
        #expect(scene.flights.isEmpty)
    }

    @Test func headersNameTheBatch() throws {
        var scene = try online {
            $0.token = Array("secret".utf8)
            $0.headers = [HeaderField(name: "X-Site", value: "7")]
        }
        scene.accept(1)
        let request = try #require(scene.flights.first?.request)
        #expect(request.method == .post && request.gzipLevel == 1 && request.timeout == .seconds(30))
        #expect(request.headers.first(named: "content-type") == "application/json")
        #expect(request.headers.first(named: "user-agent") == "uplinkd/test")
        #expect(request.headers.first(named: "authorization") == "Bearer secret")
        #expect(request.headers.first(named: "x-site") == "7")
        #expect(request.headers.first(named: "uplink-attempt") == "1")
    }
}

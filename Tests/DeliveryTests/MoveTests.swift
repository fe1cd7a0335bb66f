import Queue
import Reachability
import Testing
import Time

@testable import Delivery

/// The cursor moves by itself: eviction, expiry, purge.
struct MoveTests {
    private func online(_ count: Int) throws -> Scene {
        var scene = Scene(try Scene.settings { $0.flushSpread = .fixed(.zero) })
        scene.becomeReachable()
        scene.accept(count)
        return scene
    }

    private func move(_ scene: inout Scene, to low: UInt64, _ kind: Disposition.Kind = .evicted) {
        let before = scene.settled[.normal] ?? 0
        let passed = max(before, low - 1)
        scene.settled[.normal] = passed
        scene.ledgers[.normal, default: Ledger()].count(passed - before, as: kind)
        let count = passed - before
        scene.tell(.moved(CursorMove(destination: "main", log: .normal, low: low, kind: kind, count: count)))
    }

    @Test func whatIsInFlightGoesOnAndCountsOnlyWhatIsLeft() throws {
        var scene = try online(30)
        #expect(scene.flights.map(\.sequences) == [Array(1...10)])
        move(&scene, to: 6)
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == Array(1...30))
        #expect(scene.ledgers[.normal]?.evicted == 5 && scene.ledgers[.normal]?.delivered == 25)
        #expect(scene.destination.isDrained && scene.settled[.normal] == 30)
    }

    @Test func whatWasPreparedOrReadAheadIsDropped() throws {
        var scene = try online(30)
        move(&scene, to: 26)
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == Array(1...10) + Array(26...30))
        #expect(scene.ledgers[.normal]?.evicted == 25 && scene.ledgers[.normal]?.delivered == 5)
        #expect(scene.destination.isDrained)
    }

    @Test func aReadInFlightIsAskedForAgain() throws {
        var scene = Scene(try Scene.settings { $0.flushSpread = .fixed(.zero) })
        scene.becomeReachable()
        scene.holdsReads = true
        scene.accept(20)
        #expect(scene.reads.map(\.from) == [1])
        move(&scene, to: 11)
        #expect(scene.reads.map(\.from) == [1, 11])
        scene.holdsReads = false
        scene.answerReads()
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == Array(11...20))
    }

    @Test func aBatchToBeTriedAgainGoesWithItsLastEvent() throws {
        var scene = try online(20)
        scene.answer(503, [HeaderField(name: "Retry-After", value: "5")])
        move(&scene, to: 10)
        scene.pass(.seconds(20))
        #expect(scene.flights.map(\.sequences) == [Array(1...10)], "one of its events is left")
        scene.answer(503, [HeaderField(name: "Retry-After", value: "5")])
        move(&scene, to: 13)
        scene.pass(.seconds(20))
        #expect(scene.flights.map(\.sequences) == [Array(13...20)])
        scene.drain()
        #expect(scene.ledgers[.normal]?.delivered == 8 && scene.ledgers[.normal]?.evicted == 12)
    }

    /// The move comes while the batch is in flight, and then the request fails.
    @Test func aBatchWhoseEventsWentWhileItWasInFlightIsNotTriedAgain() throws {
        var scene = try online(20)
        move(&scene, to: 11)
        scene.answer(503, [HeaderField(name: "Retry-After", value: "1")])
        scene.pass(.seconds(20))
        #expect(scene.flights.map(\.sequences) == [Array(11...20)])
    }

    @Test func whatIsPurgedIsTakenOutOfTheRequestInFlight() throws {
        var scene = try online(20)
        move(&scene, to: 4, .purged)
        #expect(scene.flights.map(\.sequences) == [Array(4...13)])
        #expect(scene.sent.count == 2)
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == Array(4...20))
    }

    @Test func aRequestWhoseEventsAllLieBehindWhatIsPurgedGoesOn() throws {
        var scene = Scene(try Scene.settings { $0.flushSpread = .fixed(.zero) })
        scene.damaged[.normal] = [1, 2]
        scene.becomeReachable()
        scene.accept(20)
        #expect(scene.flights.map(\.sequences) == [Array(3...12)])
        move(&scene, to: 3, .purged)
        #expect(scene.sent.count == 1 && scene.flights.count == 1)
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == Array(3...20))
        #expect(scene.destination.isDrained && scene.ledgers[.normal]?.delivered == 18)
    }

    @Test func aMoveThatIsOldNewsChangesNothing() throws {
        var scene = try online(20)
        scene.answer(200)
        let sent = scene.sent.count
        move(&scene, to: 5)
        #expect(scene.sent.count == sent)
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == Array(1...20))
    }

    @Test func aChunkThatBeginsLaterSaysWhereTheCursorIs() throws {
        var scene = Scene(try Scene.settings { $0.flushSpread = .fixed(.zero) }, waiting: 30)
        scene.settled[.normal] = 12
        scene.becomeReachable()
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == Array(13...30))
        #expect(scene.destination.isDrained && scene.settled[.normal] == 30)
    }

    @Test func aChunkThatBeginsLaterDropsWhatWasPreparedBeforeIt() throws {
        var scene = Scene(
            try Scene.settings {
                $0.flushSpread = .fixed(.zero)
                $0.batchMaximumEvents = 2
            }, waiting: 6)
        scene.becomeReachable()
        scene.answer(200)
        #expect(scene.flights.map(\.sequences) == [[3, 4]])
        scene.holdsReads = true
        scene.accept(24)
        #expect(scene.reads.map(\.from) == [7])
        scene.settled[.normal] = 27
        scene.holdsReads = false
        scene.answerReads()
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == [1, 2, 3, 4, 28, 29, 30])
        #expect(scene.destination.isDrained && scene.settled[.normal] == 30)
    }

    /// A burial is in hand, and a request in the other place.
    @Test func oneThatIsReplacedSettlesNothingAnyMore() throws {
        var scene = try online(1)
        scene.accept(1, in: .urgent)
        #expect(scene.flights.count == 2)
        let refused = try #require(scene.flights.first)
        let answer = TransportAnswer(status: 400, headers: [], body: [], isVerifiedPeer: true)
        let effects = scene.destination.handle(.answered(request: refused.request.id, .answer(answer)), at: scene.now)
        let burial = try #require(
            effects.compactMap { effect -> UInt64? in if case .bury(let id, _, _, _) = effect { id } else { nil } }
                .first)
        scene.tell(.replaced)
        #expect(scene.destination.isIdle)
        scene.tell(.buried(id: burial, .kept(EventID(epoch: 1, sequence: 1))))
        scene.becomeReachable()
        scene.tell(.attempt)
        scene.pass(.seconds(100))
        #expect(scene.ledgers.isEmpty && scene.sent.count == 2)
    }
}

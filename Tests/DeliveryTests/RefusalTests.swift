import Bytes
import Delivery
import Gates
import Queue
import Reachability
import Testing
import Time

/// Events that the destination refuses: each is found, kept as a dead letter, and costs the others nothing.
struct RefusalTests {
    /// A destination with `count` events that wait, which has answered its check.
    private func online(
        waiting count: Int, batch: Int = 10, _ change: (inout DestinationSettings) throws -> Void = { _ in }
    ) throws -> Scene {
        let settings = try Scene.settings {
            $0.batchMaximumEvents = batch
            $0.flushSpread = .fixed(.zero)
            try change(&$0)
        }
        var scene = Scene(settings)
        scene.chunkEvents = 1_000
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable()
        if count > 0 { scene.accept(count) }
        return scene
    }

    /// Answers each request until none is in flight; how many there were.
    @discardableResult
    private func answer(
        _ scene: inout Scene, atMost limit: Int = .max, with status: (Scene.Flight) -> Int
    ) -> Int {
        var requests = 0
        while let flight = scene.flights.first, requests < limit {
            requests += 1
            scene.answer(status(flight))
        }
        return requests
    }

    private func expectAll(_ count: Int, but dead: Set<UInt64>, in scene: Scene, _ comment: Comment? = nil) {
        let expected = (1...UInt64(count)).filter { !dead.contains($0) }
        #expect(scene.delivered.map(\.sequence) == expected, comment)
        #expect(Set(scene.letters.map(\.sequence)) == dead && scene.letters.count == dead.count, comment)
        #expect(scene.ledgers[.normal]?.delivered == UInt64(expected.count), comment)
        #expect(scene.ledgers[.normal]?.dead == UInt64(dead.count), comment)
        #expect(scene.destination.isDrained && !scene.destination.status.isHeld, comment)
    }

    @Test(arguments: [400, 422]) func fiveOfTenThousandCostLittle(status: Int) throws {
        var random = SplitMix64(seed: UInt64(status))
        let dead = Set((0..<5).map { _ in UInt64.random(in: 1...10_000, using: &random) })
        var scene = try online(waiting: 0, batch: 500)
        scene.accept(10_000)
        let requests = answer(&scene) { $0.sequences.contains(where: dead.contains) ? status : 200 }
        expectAll(10_000, but: dead, in: scene)
        // Five times the logarithm of 500 and two, rounded down.
        #expect(requests - 20 <= 54, "\(requests) requests for \(dead.sorted())")
    }

    @Test func anEventIsRefusedAloneBeforeItIsDead() throws {
        for bad in UInt64(1)...7 {
            var scene = try online(waiting: 7)
            var alone: Set<UInt64> = []
            answer(&scene) { flight in
                guard flight.sequences.contains(bad) else { return 200 }
                if flight.sequences.count == 1 { alone.insert(bad) }
                return 422
            }
            #expect(alone == [bad])
            expectAll(7, but: [bad], in: scene, "\(bad)")
        }
    }

    @Test func aLetterHoldsTheAnswer() throws {
        var scene = try online(waiting: 1)
        scene.answer(503)
        scene.pass(.seconds(2))
        scene.answer(400)
        let refusal = EventRefusal(status: 400, attempts: 2, detail: Array("said 400".utf8))
        #expect(scene.letters == [Scene.Letter(log: .normal, sequence: 1, refusal: refusal)])
        #expect(scene.notices.contains(.buried(EventID(epoch: 1, sequence: 1), refusal)))
    }

    @Test func whatWaitedForARefusalIsMarked() throws {
        var scene = try online(waiting: 4)
        answer(&scene) { $0.sequences.contains(2) ? 400 : 200 }
        #expect(scene.delivered.map(\.reason) == ["destination", "destination", "destination"])
        #expect(scene.destination.gates.current == nil)
    }

    @Test func nothingIsSettledBeforeTheLetterIsKept() throws {
        var scene = try online(waiting: 2)
        scene.burialOutcome = .failed(detail: "the disk fails")
        answer(&scene, atMost: 2) { _ in 400 }
        #expect(scene.settled[.normal] == 0 && scene.flights.isEmpty && scene.destination.status.isHeld)
        #expect(scene.destination.status.reason == .storage)
        scene.burialOutcome = .full(detail: "no room")
        scene.tell(.resume)
        answer(&scene) { _ in 400 }
        #expect(scene.settled[.normal] == 0 && scene.destination.status.reason == .refusing)
        scene.burialOutcome = .kept(EventID(epoch: 1, sequence: 1))
        scene.tell(.flush)
        answer(&scene) { $0.sequences == [1] ? 400 : 200 }
        expectAll(2, but: [1], in: scene)
    }

    @Test func anEventThatIsGoneIsReadAgain() throws {
        var scene = try online(waiting: 2)
        scene.burialOutcome = .gone
        answer(&scene, atMost: 1) { _ in 400 }
        scene.damaged[.normal] = [1]
        answer(&scene) { $0.sequences.contains(1) ? 400 : 200 }
        #expect(scene.ledgers[.normal]?.quarantined == 1 && scene.ledgers[.normal]?.delivered == 1)
        #expect(scene.letters.isEmpty && scene.destination.isDrained)
    }

    // MARK: Refusing everything

    @Test(arguments: [1, 10, 500]) func aCollectorThatRefusesEverythingCostsFewLetters(batch: Int) throws {
        var scene = try online(waiting: 2_000, batch: batch)
        var requests = 0
        while requests < 1_000 {
            requests += answer(&scene, atMost: 1_000 - requests) { _ in 400 }
            if scene.flights.isEmpty { scene.pass(.seconds(900)) }
        }
        #expect(scene.letters.count <= 10 && scene.ledgers[.normal]?.delivered ?? 0 == 0)
        #expect(scene.destination.status.isHeld && scene.destination.status.reason == .refusing)
        #expect(scene.notices.count { if case .held = $0 { true } else { false } } == 1)
        scene.pass(.seconds(18 * 60))
        answer(&scene) { _ in 200 }
        expectAll(2_000, but: Set(scene.letters.map(\.sequence)), in: scene)
        #expect(scene.notices.contains(.released))
    }

    @Test func theEventAtWhichItWasHeldMayBeBadItself() throws {
        var scene = try online(waiting: 40, batch: 5)
        answer(&scene) { _ in 422 }
        let held = UInt64(scene.letters.count) + 1
        #expect(scene.destination.status.isHeld)
        scene.pass(.seconds(80))
        answer(&scene) { $0.sequences.contains(held) ? 422 : 200 }
        expectAll(40, but: Set(1...held), in: scene)
        #expect(scene.delivered.map(\.sequence) == Array(held + 1...40))
    }

    @Test func aNeighbourThatGetsNoAnswerChangesNothing() throws {
        for end in 0..<4 {
            var scene = try online(waiting: 40, batch: 5)
            answer(&scene) { _ in 422 }
            let held = UInt64(scene.letters.count) + 1
            scene.pass(.seconds(80))
            scene.answer(422)
            #expect(scene.flights.map(\.sequences) == [[held + 1]], "its neighbour is tried")
            switch end {
            case 0: scene.answer(503)
            case 1: scene.answer(404)
            case 2: scene.answer(422)
            default: scene.losePath()
            }
            #expect(scene.flights.isEmpty && scene.settled[.normal] == held - 1)
            if end == 3 {
                scene.tell(.checkDue)
            } else {
                scene.tell(.flush)
            }
            #expect(scene.flights.map(\.sequences) == [[held]], "\(end): nothing overtakes it")
            scene.answer(200)
            if end == 3 { scene.becomeReachable() }
            answer(&scene) { _ in 200 }
            expectAll(40, but: Set(1..<held), in: scene, "\(end)")
        }
    }

    @Test func resumeLetsTenMoreGo() throws {
        var scene = try online(waiting: 40, batch: 1)
        answer(&scene) { _ in 400 }
        #expect(scene.letters.count == 9)
        scene.tell(.resume)
        answer(&scene) { _ in 400 }
        #expect(scene.letters.count == 18 && scene.destination.status.isHeld)
    }

    @Test func refusalsWithDeliveriesBetweenAreExceptions() throws {
        var scene = try online(waiting: 60, batch: 1)
        answer(&scene) { ($0.sequences.first ?? 0) % 2 == 0 ? 400 : 200 }
        expectAll(60, but: Set((1...60).filter { $0 % 2 == 0 }), in: scene)
    }

    // MARK: Lengths and encodings

    @Test func aBodyThatIsTooLongIsHalvedAndRemembered() throws {
        var scene = try online(waiting: 0, batch: 100)
        scene.accept(8_000)
        var refused = 0
        let requests = answer(&scene) { flight in
            guard flight.request.body.count > 600 else { return 200 }
            refused += 1
            return 413
        }
        expectAll(8_000, but: [], in: scene)
        #expect(
            (8...16).contains(refused), "\(refused) of \(requests); it tries more after 20 batches, 40, 80 and so on")
    }

    /// A limit that is lifted is found out without anybody's help.
    @Test func aLearntLengthGrowsAgain() throws {
        var scene = try online(waiting: 0, batch: 100)
        scene.accept(8_000)
        var requests = 0
        var longest = 0
        answer(&scene) { flight in
            requests += 1
            guard requests > 10 else { return flight.request.body.count > 600 ? 413 : 200 }
            longest = max(longest, flight.sequences.count)
            return 200
        }
        expectAll(8_000, but: [], in: scene)
        #expect(longest == 100)
    }

    /// Not one smaller than needed: what is added to events counts as long as it is.
    @Test func halvingStopsAtTheFirstHalfThatPasses() throws {
        var scene = try online(waiting: 8, batch: 8)
        var lengths: [Int] = []
        answer(&scene) { flight in
            lengths.append(flight.request.body.count)
            return lengths.count == 1 ? 413 : 200
        }
        expectAll(8, but: [], in: scene)
        let full = lengths[0]
        #expect(lengths[1] <= full / 2 && lengths[1] > full / 2 - full / 8 - 60, "\(lengths)")
    }

    @Test func anEventThatIsTooLongAloneIsDead() throws {
        var scene = try online(waiting: 9)
        answer(&scene) { $0.sequences.contains(4) ? 413 : 200 }
        expectAll(9, but: [4], in: scene)
        #expect(scene.letters.map(\.refusal.status) == [413])
    }

    @Test func compressionThatIsNotWantedIsLeftOff() throws {
        var scene = try online(waiting: 0, batch: 20)
        scene.accept(40)
        #expect(scene.flights.first?.request.gzipLevel == 1)
        let first = scene.flights.first?.request
        scene.answer(415)
        let second = try #require(scene.flights.first?.request)
        #expect(second.gzipLevel == nil && scene.flights.first?.sequences == Array(1...20))
        #expect(second.headers.first(named: "Idempotency-Key") != first?.headers.first(named: "Idempotency-Key"))
        var levels: Set<Int> = []
        answer(&scene) { flight in
            levels.insert(flight.request.gzipLevel ?? 0)
            return 200
        }
        expectAll(40, but: [], in: scene)
        #expect(levels == [0], "remembered")
    }

    @Test func compressionIsNotToBlameWhereItIsRefusedWithoutAsWell() throws {
        var scene = try online(waiting: 0, batch: 20)
        scene.accept(40)
        var plain = 0
        answer(&scene) { flight in
            if flight.request.gzipLevel == nil { plain += 1 }
            return flight.sequences.contains(3) ? 415 : 200
        }
        expectAll(40, but: [3], in: scene)
        #expect(plain == 1)
    }
}

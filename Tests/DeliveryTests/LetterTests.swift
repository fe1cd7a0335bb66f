import Bytes
import Delivery
import Gates
import Queue
import Reachability
import Testing
import Time

/// Dead letters that are sent again, tokens that are read anew, pauses that end, and the rate.
struct LetterTests {
    private func online(_ change: (inout DestinationSettings) throws -> Void = { _ in }) throws -> Scene {
        try Scene.online {
            $0.flushSpread = .fixed(.zero)
            try change(&$0)
        }
    }

    /// A destination of which events 1 to 3 are dead.
    private func withLetters() throws -> Scene {
        var scene = try online { $0.batchMaximumEvents = 1 }
        scene.accept(3)
        while !scene.flights.isEmpty { scene.answer(422) }
        #expect(scene.letters.count == 3 && scene.destination.isDrained)
        return scene
    }

    @Test func lettersGoAgainAloneWithTheirIds() throws {
        var scene = try withLetters()
        scene.retried = [(.normal, 1), (.normal, 3)]
        scene.tell(.lettersChanged)
        #expect(scene.flights.map(\.sequences) == [[1]] && scene.destination.hasLetters)
        scene.answer(503)
        scene.pass(.seconds(5))
        #expect(scene.flights.map(\.sequences) == [[1]] && scene.sent.last?.attempt == "2")
        scene.answer(200)
        #expect(scene.flights.map(\.sequences) == [[3]])
        scene.answer(200)
        #expect(scene.resolved.map(\.sequence) == [1, 3] && !scene.destination.hasLetters)
        #expect(scene.settled[.normal] == 3 && scene.ledgers[.normal]?.dead == 3, "the queue counts letters")
        #expect(scene.delivered.map(\.reason) == ["destination", "destination"])
    }

    @Test func aLetterThatIsRefusedAgainIsOneAgain() throws {
        var scene = try withLetters()
        scene.retried = [(.normal, 2), (.normal, 3)]
        scene.tell(.lettersChanged)
        scene.answer(400)
        scene.answer(200)
        #expect(scene.letters.map(\.sequence) == [1, 2, 3, 2] && scene.letters.last?.refusal.status == 400)
        #expect(scene.letters.map(\.refusal.attempts) == [1, 1, 1, 2], "its tries are counted on")
        #expect(scene.resolved.map(\.sequence) == [3] && !scene.destination.status.isHeld)
    }

    @Test func twentyLettersThatAreRefusedAgainHoldNothing() throws {
        var scene = try online { $0.batchMaximumEvents = 1 }
        scene.accept(40)
        while let flight = scene.flights.first { scene.answer(flight.sequences[0] % 2 == 0 ? 422 : 200) }
        scene.retried = (1...20).map { (.normal, $0 * 2) }
        scene.tell(.lettersChanged)
        while !scene.flights.isEmpty { scene.answer(422) }
        #expect(scene.letters.count == 40 && !scene.destination.status.isHeld && !scene.destination.hasLetters)
    }

    @Test func lettersAndEventsTakeTurns() throws {
        var scene = try withLetters()
        scene.retried = [(.normal, 1), (.normal, 2), (.normal, 3)]
        scene.accept(12)
        scene.tell(.lettersChanged)
        var order: [UInt64] = []
        while let flight = scene.flights.first {
            order += flight.sequences
            scene.answer(200)
        }
        #expect(scene.settled[.normal] == 15 && scene.resolved.count == 3)
        #expect(order.firstIndex(of: 3) ?? 15 < 10, "letters are not kept back by events: \(order)")
        #expect(order.filter { $0 > 3 } == Array(4...15))
    }

    @Test func aLetterThatWasDroppedIsNotSentAgain() throws {
        var scene = try withLetters()
        scene.retried = [(.normal, 2)]
        scene.tell(.lettersChanged)
        scene.answer(503)
        scene.retried = []
        scene.tell(.lettersChanged)
        scene.pass(.seconds(10))
        #expect(scene.flights.isEmpty && !scene.destination.hasLetters)
    }

    // MARK: Tokens

    @Test func aRefusedTokenIsReadAnewAndTriedOnceMore() throws {
        var scene = try online { $0.token = Array("old".utf8) }
        scene.accept(3)
        scene.answer(401)
        #expect(scene.tokenReads == 1 && scene.flights.isEmpty && !scene.destination.status.isHeld)
        scene.tell(.token(Array("new".utf8)))
        #expect(scene.flights.first?.request.headers.first(named: "authorization") == "Bearer new")
        scene.answer(200)
        #expect(scene.settled[.normal] == 3 && scene.destination.settings.token == Array("new".utf8))
        #expect(!scene.notices.contains { if case .held = $0 { true } else { false } })
    }

    @Test func aTokenThatStaysRefusedHolds() throws {
        var scene = try online { $0.token = Array("old".utf8) }
        scene.accept(3)
        scene.answer(401)
        scene.tell(.token(nil))
        #expect(scene.flights.count == 1, "once more")
        scene.answer(401)
        #expect(scene.destination.status.isHeld && scene.destination.status.reason == .unauthorized)
        #expect(scene.flights.isEmpty && scene.letters.isEmpty)
        scene.pass(.seconds(70))
        scene.answer(401)
        #expect(scene.tokenReads == 2 && scene.flights.isEmpty)
        scene.tell(.token(Array("old".utf8)))
        #expect(scene.flights.isEmpty, "the same")
        scene.tell(.token(Array("new".utf8)))
        scene.answer(200)
        #expect(scene.settled[.normal] == 3 && !scene.destination.status.isHeld)
    }

    @Test func aTokenThatCannotBeReadInTimeIsNotWaitedFor() throws {
        var scene = try online { $0.token = Array("old".utf8) }
        scene.accept(1)
        scene.answer(401)
        scene.pass(.seconds(11))
        #expect(scene.flights.count == 1)
    }

    /// Not even on a new path, nor with a check.
    @Test func withoutItsTokenNothingIsSent() throws {
        var scene = Scene(
            try Scene.settings {
                $0.flushSpread = .fixed(.zero)
                $0.tokenFault = "/etc/token cannot be used"
            }, waiting: 3)
        scene.tell(.checkDue)
        #expect(scene.flights.map(\.request.isCheck) == [true])
        scene.answer(200)
        scene.becomeReachable()
        let status = scene.destination.status
        #expect(
            status.isHeld && status.reason == .unauthorized && status.lastError?.detail == "/etc/token cannot be used")
        #expect(scene.notices.count == 1 && scene.tokenReads == 0)
        scene.pass(.seconds(70))
        scene.losePath()
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable()
        scene.tell(.token(nil))
        #expect(scene.tokenReads == 2 && scene.flights.isEmpty && scene.sent.allSatisfy(\.isCheck))
        scene.tell(.flush)
        scene.tell(.token(nil, fault: "/etc/token is empty"))
        #expect(scene.destination.status.lastError?.detail == "/etc/token is empty", "the newest reason")
        scene.tell(.flush)
        #expect(scene.destination.status.lastError?.detail == "/etc/token is empty")
        scene.tell(.token(Array("no\ntoken".utf8)))
        #expect(scene.tokenReads == 4 && scene.flights.isEmpty)
        scene.tell(.token(Array("new".utf8)))
        #expect(scene.flights.first?.request.headers.first(named: "authorization") == "Bearer new")
        scene.answer(200)
        #expect(scene.settled[.normal] == 3 && !scene.destination.status.isHeld)
    }

    // MARK: Operators, reload, rate

    @Test func aPauseEndsByItself() throws {
        var scene = try online()
        scene.tell(.pause(until: scene.now + .seconds(60)))
        scene.accept(2)
        scene.pass(.seconds(59))
        #expect(scene.flights.isEmpty && scene.destination.status.isPaused)
        scene.pass(.seconds(2))
        #expect(scene.flights.map(\.sequences) == [[1, 2]] && !scene.destination.status.isPaused)
        scene.answer(200)
        #expect(scene.delivered.allSatisfy { $0.reason == "paused" })
    }

    @Test func aPauseEndsThoughSomethingElseComesFirst() throws {
        var scene = try online()
        scene.tell(.pause(until: scene.now + .seconds(60)))
        scene.accept(2)
        scene.now = scene.now + .seconds(60)
        scene.accept(1)
        scene.pass(.seconds(1))
        #expect(scene.flights.map(\.sequences) == [[1, 2, 3]] && !scene.destination.status.isPaused)
    }

    @Test func aPauseEndsWhileNothingIsReachable() throws {
        var scene = try online()
        scene.tell(.pause(until: scene.now + .seconds(60)))
        scene.losePath()
        scene.pass(.seconds(61))
        #expect(!scene.destination.status.isPaused)
    }

    @Test func aReloadTriesAHoldAtOnce() throws {
        var scene = try online()
        scene.accept(1)
        scene.answer(404)
        scene.tell(.reloaded)
        #expect(scene.flights.count == 1)
        scene.answer(503, [HeaderField(name: "Retry-After", value: "100")])
        scene.tell(.reloaded)
        #expect(scene.flights.isEmpty, "time that it asked for is kept")
    }

    @Test(arguments: [1, 7, 100]) func noMoreLeavesThanTheRateAllows(rate: Int) throws {
        var scene = try online {
            $0.batchMaximumEvents = 30
            $0.maximumEventsPerSecond = rate
        }
        let began = scene.now
        scene.accept(rate * 4)
        scene.accept(rate, in: .urgent)
        while scene.settled[.normal] ?? 0 < UInt64(rate * 4) || scene.settled[.urgent] ?? 0 < UInt64(rate) {
            guard scene.now - began < .seconds(20) else { break }
            while !scene.flights.isEmpty { scene.answer(200) }
            let elapsed = scene.now - began
            #expect(Double(scene.delivered.count) <= Double(rate) * (elapsed.inSeconds + 1.01))
            scene.pass(.milliseconds(50))
        }
        #expect(scene.delivered.count == rate * 5)
        #expect(scene.now - began >= .milliseconds(3_900) && scene.now - began <= .milliseconds(5_500))
    }

    @Test func refusalsDoNotCountAgainstTheRate() throws {
        var scene = try online {
            $0.batchMaximumEvents = 64
            $0.maximumEventsPerSecond = 64
        }
        let began = scene.now
        scene.accept(256)
        while !scene.destination.isDrained, scene.now - began < .seconds(60) {
            while let flight = scene.flights.first {
                scene.answer(flight.sequences.contains { $0 % 64 == 17 } ? 400 : 200)
            }
            scene.pass(.milliseconds(50))
        }
        #expect(scene.letters.count == 4 && scene.delivered.count == 252)
        #expect(scene.now - began >= .milliseconds(2_900) && scene.now - began <= .milliseconds(4_500))
    }
}

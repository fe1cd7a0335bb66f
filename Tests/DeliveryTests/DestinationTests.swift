import Gates
import Queue
import Reachability
import Testing
import Time

@testable import Delivery

/// What is sent, when, in what order and with which marks.
struct DestinationTests {
    @Test func anEventPostedOnlineLeavesAtOnceAndUnmarked() throws {
        var scene = try Scene.online()
        scene.accept(1)
        #expect(scene.flights.map(\.sequences) == [[1]])
        #expect(scene.settled[.normal] == 0)
        scene.answer(200)
        #expect(scene.settled[.normal] == 1)
        #expect(scene.delivered == [.init(log: .normal, sequence: 1, wasQueued: false, reason: nil)])
        #expect(scene.destination.status.lastSuccess == scene.now)
        #expect(scene.destination.isDrained && scene.destination.isIdle)
    }

    @Test func theCheckIsTheFirstBatchAndTheRestFollowsOldestFirst() throws {
        var scene = Scene(try Scene.settings(), waiting: 38)
        #expect(scene.reads.isEmpty && scene.flights.isEmpty)
        scene.tell(.checkDue)
        #expect(scene.flights.map(\.sequences) == [Array(1...10)])
        scene.pass(.seconds(20))
        #expect(scene.flights.count == 1)
        scene.answer(202)
        #expect(scene.proofs == 1 && scene.checksEnded == 1)
        #expect(scene.flights.isEmpty, "nothing follows before reachability has opened the way")
        scene.becomeReachable(after: .seconds(100), .ownLink)
        scene.pass(.seconds(2))
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == Array(1...38))
        #expect(scene.delivered.allSatisfy { $0.wasQueued && $0.reason == "restart" })
        #expect(scene.sent.map(\.attempt) == ["1", "1", "1", "1"])
        #expect(scene.notices.contains { if case .flushed(events: 38, _) = $0 { true } else { false } })
    }

    @Test func theSpreadFollowsTheFirstBatch() throws {
        var scene = try Scene.online { $0.flushSpread = .fixed(.seconds(1_000)) }
        scene.losePath()
        scene.accept(30)
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .seconds(60), .ownLink)
        #expect(scene.flights.isEmpty)
        let next = try #require(scene.destination.deadline)
        #expect(scene.destination.status.nextAttempt == next)
        #expect(scene.destination.reasonDetail == "the rest is spread after the outage")
        #expect(next > scene.now && next <= scene.now + .seconds(1_000))
        scene.accept(5, in: .urgent)
        scene.pass(next - scene.now)
        #expect(scene.flights.count == 1, "then one batch")
        #expect(scene.destination.reasonDetail == nil)
        scene.answer(200)
        scene.accept(5, in: .urgent)
        #expect(Set(scene.flights.map(\.log)) == [.urgent, .normal], "then both places")
        scene.drain()
        #expect(scene.settled[.normal] == 30 && scene.settled[.urgent] == 10)
    }

    /// It counts from when the destination was reachable, not from what leaves first, which may be long after.
    @Test func theSpreadOfAnOldOutageIsOver() throws {
        var scene = try Scene.online {
            $0.flushSpread = .fixed(.seconds(1_000))
            $0.networkPolicy = NetworkPolicy(own: [.bulk: [.wifi]])
        }
        scene.losePath()
        scene.tell(.connectionType(.ethernet))
        scene.accept(5, in: .bulk)
        scene.tell(.pause(until: nil))
        scene.accept(20)
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .seconds(3_600), .destination)
        scene.pass(.seconds(1_001))
        scene.tell(.pause(until: scene.now + .seconds(1)))
        scene.pass(.seconds(1))
        scene.drain()
        #expect(scene.settled[.normal] == 20 && scene.settled[.bulk] == nil)
    }

    @Test func resumeEndsASpreadThatHasNotBegun() throws {
        var scene = try Scene.online { $0.flushSpread = .fixed(.seconds(1_000)) }
        scene.losePath()
        scene.accept(30)
        scene.tell(.pause(until: nil))
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .seconds(3_600), .destination)
        scene.pass(.seconds(1))
        scene.tell(.resume)
        scene.drain()
        #expect(scene.settled[.normal] == 30)
    }

    /// Nothing that may leave had waited: there is nothing to spread.
    @Test func whatMayNotLeaveSpreadsNothingElse() throws {
        var scene = try Scene.online {
            $0.flushSpread = .fixed(.seconds(1_000))
            $0.networkPolicy = NetworkPolicy(own: [.bulk: [.wifi]])
        }
        scene.losePath()
        scene.tell(.connectionType(.ethernet))
        scene.accept(5, in: .bulk)
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .seconds(3_600), .destination)
        for _ in 0..<3 {
            scene.accept(1)
            scene.drain()
        }
        #expect(scene.settled[.normal] == 3)
    }

    @Test func aFailureAfterTheSpreadBeginsAnew() throws {
        var scene = try Scene.online { $0.flushSpread = .fixed(.seconds(1_000)) }
        scene.losePath()
        scene.accept(100)
        scene.accept(5, in: .urgent)
        for _ in 0..<3 {
            scene.tell(.checkDue)
            scene.answer(200)
            scene.becomeReachable(after: .seconds(60), .destination)
            scene.pass(.seconds(1_000))
            #expect(scene.flights.count == 1)
            scene.fail(.reset)
            scene.tell(.connectivity(.closed))
        }
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .seconds(60), .destination)
        scene.pass(.seconds(1_000))
        scene.answer(503)
        scene.pass(.seconds(2))
        #expect(scene.flights.count == 1)
        scene.drain()
        #expect(scene.settled[.normal] == 100 && scene.settled[.urgent] == 5)
    }

    @Test func withoutSpreadTheRestFollowsAtOnce() throws {
        var scene = try Scene.online { $0.flushSpread = .fixed(.zero) }
        scene.losePath()
        scene.accept(30)
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .seconds(60), .ownLink)
        #expect(scene.flights.count == 1)
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == Array(1...30))
        #expect(scene.delivered.allSatisfy { $0.wasQueued && $0.reason == "connectivity" })
        scene.accept(1)
        scene.answer(200)
        #expect(scene.delivered.last == .init(log: .normal, sequence: 31, wasQueued: false, reason: nil))
    }

    @Test func noAnswerKeepsTheBatchAndItsId() throws {
        var scene = try Scene.online()
        scene.accept(3)
        scene.accept(5)
        scene.fail(.timeout)
        #expect(scene.failures == [.timeout])
        #expect(scene.flights.isEmpty && scene.settled[.normal] == 0)
        #expect(scene.destination.gates.current == .connectivity)
        scene.tell(.connectivity(.closed))
        scene.pass(.seconds(600))
        #expect(scene.flights.isEmpty, "only a check may be sent")
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .seconds(600), .destination)
        scene.pass(.seconds(600))
        scene.drain()
        let posts = scene.sent.filter { !$0.isCheck }
        #expect(posts.map(\.attempt) == ["1", "2", "1"])
        #expect(posts[0].batch == posts[1].batch && posts[1].batch != posts[2].batch)
        #expect(scene.delivered.map(\.sequence) == Array(1...8))
        #expect(scene.delivered.map(\.wasQueued) == [false, false, false, true, true, true, true, true])
    }

    @Test func whatNeverLeftTheMachineIsFormedAnewWithItsMark() throws {
        var scene = try Scene.online()
        scene.accept(3)
        scene.fail(.refused)
        scene.tell(.checkDue)
        scene.fail(.refused)
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .seconds(60), .destination)
        let posts = scene.sent.filter { !$0.isCheck }
        #expect(posts.map(\.attempt) == ["1", "1", "2"])
        #expect(posts[0].batch != posts[1].batch && posts[1].batch == posts[2].batch)
        #expect(scene.delivered.map(\.reason) == ["connectivity", "connectivity", "connectivity"])
    }

    @Test func aBatchThatMayHaveArrivedIsNeverFormedAnew() throws {
        var scene = try Scene.online()
        scene.accept(3)
        scene.fail(.reset)
        scene.tell(.checkDue)
        scene.fail(.refused)
        scene.tell(.checkDue)
        scene.answer(200)
        let posts = scene.sent.filter { !$0.isCheck }
        #expect(Set(posts.map(\.batch)).count == 1)
        #expect(posts.map(\.attempt) == ["1", "2", "3"])
    }

    @Test func batchIdsAreNewAfterARestart() throws {
        var ids: [String] = []
        for seed in [UInt64(1), 2] {
            var scene = Scene(try Scene.settings(), waiting: 5, seed: seed)
            scene.tell(.checkDue)
            ids += scene.sent.map(\.batch)
        }
        #expect(Set(ids).count == 2)
        #expect(ids.allSatisfy { $0.hasPrefix("\"000000000000000e-1-") && $0.hasSuffix("\"") })
    }

    @Test func eventsAcceptedBeforeTheFirstCheckEndedAreNotMarked() throws {
        var scene = Scene(try Scene.settings())
        scene.tell(.connectivity(.unknown))
        scene.accept(2)
        #expect(scene.flights.isEmpty)
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .milliseconds(50))
        #expect(scene.delivered.map(\.wasQueued) == [false, false])
    }

    @Test func eventsBehindAFailedFirstCheckAreMarked() throws {
        var scene = Scene(try Scene.settings())
        scene.tell(.checkDue)
        scene.accept(2)
        scene.fail(.timeout)
        scene.tell(.connectivity(.closed))
        scene.accept(2)
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .seconds(9))
        scene.pass(.seconds(2))
        scene.drain()
        #expect(scene.delivered.map(\.reason) == Array(repeating: "connectivity", count: 4))
    }

    @Test func eventsThatAreDurableOnlyAfterTheGateClosedAreMarked() throws {
        var scene = try Scene.online()
        let open = scene.context
        scene.losePath()
        scene.accept(3, circumstances: open)
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .seconds(60), .ownLink)
        scene.pass(.seconds(2))
        scene.drain()
        #expect(scene.delivered.map(\.reason) == Array(repeating: "connectivity", count: 3))
    }

    @Test func aLostPathGivesUpWhatIsInFlight() throws {
        var scene = try Scene.online { $0.flushSpread = .fixed(.zero) }
        scene.accept(3)
        scene.tell(.pathLost(givingUpRequest: false))
        #expect(scene.flights.count == 1)
        scene.accept(4)
        scene.tell(.pathBack)
        scene.answer(200)
        #expect(scene.flights.map(\.sequences) == [Array(4...7)])
        scene.losePath()
        #expect(scene.flights.isEmpty && scene.settled[.normal] == 3)
        scene.pass(.seconds(3_600))
        #expect(scene.flights.isEmpty)
        scene.tell(.checkDue)
        #expect(scene.sent.last?.attempt == "2")
        scene.answer(200)
        #expect(scene.settled[.normal] == 7)
    }

    @Test func urgentHasAPlaceOfItsOwn() throws {
        var scene = try Scene.online()
        scene.accept(2)
        scene.accept(2, in: .urgent)
        scene.accept(2, in: .bulk)
        #expect(scene.flights.map(\.log) == [.normal, .urgent])
        scene.answer(200, at: 1)
        #expect(scene.flights.map(\.log) == [.normal])
        scene.answer(200)
        #expect(scene.flights.map(\.log) == [.bulk])
    }

    @Test func bulkGetsEveryEighthPlace() throws {
        var scene = try Scene.online()
        scene.holdsReads = true
        scene.accept(200)
        scene.accept(20, in: .bulk)
        scene.holdsReads = false
        scene.answerReads()
        scene.drain()
        let order = scene.delivered.map(\.log).enumerated().filter { $0.offset % 10 == 0 }.map(\.element)
        #expect(order.count == 22)
        #expect(order.enumerated().filter { $0.element == .bulk }.map(\.offset) == [7, 15])
    }

    @Test func damagedEventsAreCountedAndPassed() throws {
        var scene = try Scene.online()
        scene.damaged[.normal] = [1, 2, 3, 9, 14, 20]
        scene.accept(20)
        scene.drain()
        #expect(scene.ledgers[.normal]?.delivered == 14 && scene.ledgers[.normal]?.quarantined == 6)
        scene.damaged[.normal]?.formUnion(21...30)
        scene.accept(10)
        #expect(scene.settled[.normal] == 30 && scene.flights.isEmpty)
    }

    @Test func aLogThatCannotBeReadIsReadAgain() throws {
        var scene = try Scene.online()
        scene.holdsReads = true
        scene.accept(2)
        let read = try #require(scene.reads.last)
        scene.reads.removeLast()
        scene.tell(.readFailed(read: read.id))
        #expect(scene.reads.isEmpty)
        scene.pass(.milliseconds(1_100))
        #expect(scene.reads.count == 1)
        scene.holdsReads = false
        scene.answerReads()
        scene.drain()
        #expect(scene.settled[.normal] == 2)
    }

    @Test func fullBatchesAreReadyBeforeTheAnswer() throws {
        var scene = try Scene.online()
        scene.accept(100)
        scene.holdsReads = true
        scene.answer(200)
        scene.answer(200)
        #expect(scene.flights.count == 1, "read ahead while requests were in flight")
        scene.holdsReads = false
        scene.answerReads()
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == Array(1...100))
    }

    @Test func aPauseMarksWhatItKeeps() throws {
        var scene = try Scene.online()
        scene.accept(2)
        scene.tell(.pause(until: nil))
        scene.accept(25)
        scene.answer(200)
        #expect(scene.flights.isEmpty && scene.destination.status.isPaused)
        #expect(scene.destination.status.reason == .operator)
        scene.tell(.resume)
        scene.drain()
        #expect(scene.delivered.map(\.reason) == [nil, nil] + Array(repeating: "paused", count: 25))
        #expect(!scene.destination.status.isPaused)
    }

    @Test func withoutDurableCursorsItStopsAfterTenThousand() throws {
        var scene = try Scene.online()
        scene.tell(.storage(isDurable: false))
        #expect(scene.destination.undurable.map { $0 == (0, 0) } ?? false)
        scene.destination.undurable = (9_985, 0)
        scene.accept(40)
        while !scene.flights.isEmpty { scene.answer(200) }
        #expect(scene.settled[.normal] == 20)
        #expect(scene.destination.gates.current == .storage && scene.destination.status.reason == .storage)
        scene.tell(.storage(isDurable: true))
        scene.drain()
        #expect(scene.settled[.normal] == 40)
        #expect(scene.delivered.map(\.reason).suffix(20).allSatisfy { $0 == "storage" })
    }

    @Test func afterStopNothingIsSentButTheAnswerCounts() throws {
        var scene = try Scene.online()
        scene.accept(15)
        scene.tell(.stop)
        #expect(!scene.destination.isIdle)
        scene.answer(200)
        #expect(scene.settled[.normal] == 10)
        scene.accept(1)
        scene.tell(.checkDue)
        scene.pass(.seconds(100))
        #expect(scene.flights.isEmpty && scene.destination.isIdle && scene.checksEnded == 2)
    }

    @Test func withChecksOffThePathSufficesAndBackOffPaces() throws {
        var scene = Scene(try Scene.settings(), waiting: 12)
        scene.checksAreOff = true
        scene.tell(.attempt)
        #expect(scene.flights.count == 1)
        scene.fail(.timeout)
        #expect(scene.flights.isEmpty)
        scene.pass(.milliseconds(900))
        #expect(scene.flights.isEmpty)
        scene.pass(.milliseconds(200))
        #expect(scene.flights.count == 1 && scene.sent.last?.attempt == "2")
        for _ in 0..<8 {
            scene.fail(.timeout)
            scene.pass(.seconds(300))
            #expect(scene.flights.count == 1)
        }
        scene.answer(200)
        scene.drain()
        #expect(scene.settled[.normal] == 12)
        #expect(scene.destination.gates.current == nil)
        scene.tell(.pathLost(givingUpRequest: true))
        scene.accept(1)
        #expect(scene.flights.isEmpty)
    }
}

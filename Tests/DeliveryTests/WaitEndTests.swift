import Gates
import Queue
import Reachability
import Testing
import Time

@testable import Delivery

/// What a destination waits for ends, too, where nothing is left that could find out that it is over.
struct WaitEndTests {
    private static let answers = [400, 401, 404, 302, 407, 503, 429]

    /// A destination whose two events were answered so that it waits, and are gone since.
    private func waiting(after status: Int) throws -> Scene {
        var scene = try Scene.online {
            $0.flushSpread = .fixed(.zero)
            $0.retryMinimum = .seconds(20)
            $0.retryMaximum = .seconds(40)
        }
        scene.accept(2)
        scene.burialOutcome = .full(detail: "no room")
        while !scene.flights.isEmpty { scene.answer(status, [HeaderField(name: "Retry-After", value: "90")]) }
        scene.burialOutcome = .kept(EventID(epoch: 1, sequence: 1))
        let isWaiting = scene.destination.status.isHeld || scene.destination.status.isThrottled
        #expect(isWaiting && scene.destination.status.nextAttempt != nil)
        scene.settled[.normal] = 2
        scene.tell(.moved(CursorMove(destination: "main", log: .normal, low: 3, kind: .expired, count: 2)))
        return scene
    }

    private func expectOver(_ scene: Scene, _ comment: Comment? = nil) {
        let status = scene.destination.status
        #expect(!status.isHeld && !status.isThrottled && status.reason == .none, comment)
        #expect(status.nextAttempt == nil && scene.destination.gates.current == nil, comment)
    }

    @Test(arguments: answers) func itEndsByItsTime(status: Int) throws {
        var scene = try waiting(after: status)
        let until = try #require(scene.destination.status.nextAttempt)
        scene.pass(until - scene.now - .milliseconds(1))
        #expect(scene.destination.status.isHeld || scene.destination.status.isThrottled, "not before its time")
        scene.pass(.milliseconds(1))
        expectOver(scene)
        #expect(scene.notices.contains(.released) == ![503, 429].contains(status))
        scene.accept(1)
        #expect(scene.flights.map(\.sequences) == [[3]], "a new event is tried at once")
        scene.answer(200)
        #expect(scene.delivered.map(\.wasQueued) == [false])
    }

    @Test(arguments: answers) func itEndsByAnOrder(status: Int) throws {
        for order in [DeliveryEvent.resume, .flush] {
            var scene = try waiting(after: status)
            scene.tell(order)
            expectOver(scene, "\(order)")
        }
    }

    @Test(arguments: [400, 401, 404, 302, 407]) func aHoldEndsByAReload(status: Int) throws {
        var scene = try waiting(after: status)
        scene.tell(.reloaded)
        expectOver(scene)
    }

    @Test(arguments: answers) func itEndsWithoutAPathAsWell(status: Int) throws {
        var scene = try waiting(after: status)
        scene.losePath()
        scene.pass(.seconds(200))
        #expect(!scene.destination.status.isHeld && !scene.destination.status.isThrottled)
        #expect(scene.destination.deadline == nil, "nothing wakes it any more")
    }

    /// Refusals until the last event is dead, as an operator wants it.
    @Test func aHoldForRefusalsEndsWithItsLastEvent() throws {
        var scene = try Scene.online { $0.flushSpread = .fixed(.zero) }
        scene.accept(12)
        while !scene.flights.isEmpty { scene.answer(400) }
        #expect(scene.letters.count == 9 && scene.destination.status.isHeld)
        scene.tell(.resume)
        while !scene.flights.isEmpty { scene.answer(400) }
        #expect(scene.letters.count == 12 && scene.destination.isDrained)
        expectOver(scene)
        scene.accept(1)
        #expect(scene.flights.map(\.sequences) == [[13]])
    }

    /// What has no consent may wait for ever, and could not find out.
    @Test func whatMayNotLeaveKeepsNoHold() throws {
        var scene = try Scene.online { $0.flushSpread = .fixed(.zero) }
        let ads = LogName.consent("ads")
        scene.accept(1)
        scene.tell(.withheld([ads]))
        scene.accept(1, in: ads)
        scene.answer(404)
        #expect(scene.destination.status.isHeld)
        scene.settled[.normal] = 1
        scene.tell(.moved(CursorMove(destination: "main", log: .normal, low: 2, kind: .purged, count: 1)))
        scene.tell(.resume)
        #expect(!scene.destination.status.isHeld && scene.destination.status.reason == .consent)
        #expect(scene.destination.status.nextAttempt == nil)
    }

    /// An event that can find out keeps it, and a letter that is to go again as well.
    @Test func whatWaitsKeepsTheHold() throws {
        var scene = try Scene.online {
            $0.flushSpread = .fixed(.zero)
            $0.batchMaximumEvents = 1
        }
        scene.accept(2)
        scene.answer(400)
        scene.retried = [(.normal, 1)]
        scene.answer(404)
        scene.settled[.normal] = 2
        scene.tell(.moved(CursorMove(destination: "main", log: .normal, low: 3, kind: .purged, count: 1)))
        scene.tell(.lettersChanged)
        scene.tell(.resume)
        #expect(scene.destination.status.isHeld && scene.flights.map(\.sequences) == [[1]])
        scene.answer(404)
        #expect(scene.destination.status.isHeld && scene.destination.status.nextAttempt.map { $0 > scene.now } ?? false)
    }

    /// A token that is missing is missing, whether or not something waits.
    @Test func aMissingTokenIsNotForgotten() throws {
        var scene = try waiting(after: 404)
        scene.destination.settings.token = nil
        scene.destination.settings.tokenFault = "/t: No such file"
        scene.tell(.resume)
        #expect(scene.destination.status.isHeld && scene.destination.status.reason == .unauthorized)
        scene.losePath()
        scene.tell(.checkDue)
        scene.fail(.timeout)
        #expect(scene.destination.status.lastError?.detail == "no answer: timeout")
        #expect(scene.destination.reasonDetail == "/t: No such file", "whatever comes after it")
    }

    /// Without checks no answer makes it wait as well.
    @Test func aBackOffWithoutChecksEnds() throws {
        var scene = Scene(try Scene.settings { $0.flushSpread = .fixed(.zero) })
        scene.checksAreOff = true
        scene.tell(.attempt)
        scene.accept(1)
        scene.fail(.timeout)
        #expect(scene.destination.status.nextAttempt != nil)
        scene.settled[.normal] = 1
        scene.tell(.moved(CursorMove(destination: "main", log: .normal, low: 2, kind: .expired, count: 1)))
        scene.pass(.seconds(600))
        #expect(scene.destination.status.nextAttempt == nil && scene.destination.deadline == nil)
    }
}

import Gates
import Queue
import Reachability
import Testing
import Time

@testable import Delivery

/// What may not leave for want of consent.
struct ConsentTests {
    private let ads = LogName.consent("ads")
    private let metrics = LogName.consent("metrics")

    private func online() throws -> Scene { try Scene.online { $0.flushSpread = .fixed(.zero) } }

    @Test func whatIsOnHoldWaitsAndHoldsUpNoOther() throws {
        var scene = try online()
        scene.tell(.withheld([ads]))
        scene.accept(25, in: ads)
        scene.accept(12)
        scene.accept(3, in: metrics)
        scene.drain()
        #expect(scene.delivered.filter { $0.log == .normal }.map(\.sequence) == Array(1...12))
        #expect(scene.delivered.filter { $0.log == metrics }.count == 3)
        #expect(!scene.delivered.contains { $0.log == ads || $0.wasQueued })
        #expect(scene.destination.status.reason == .consent)
        #expect(scene.destination.reasonDetail == "ads waits for consent")
        #expect(scene.destination.gates.current == nil)
        scene.tell(.withheld([]))
        #expect(scene.destination.status.reason == .none && scene.destination.reasonDetail == nil)
        scene.drain()
        scene.accept(1, in: ads)
        scene.drain()
        let held = scene.delivered.filter { $0.log == ads }
        #expect(held.map(\.sequence) == Array(1...26))
        #expect(held.prefix(25).allSatisfy { $0.reason == "consent" && $0.wasQueued })
        #expect(!held[25].wasQueued)
    }

    /// Events accepted before the hold are marked as well, whether they were sent before or not.
    @Test func aBatchInFlightIsGivenUpAndFormedAnewWithTheMark() throws {
        var scene = try online()
        scene.accept(15, in: ads)
        #expect(scene.flights.map(\.sequences) == [Array(1...10)])
        let batch = scene.sent.last?.batch
        scene.tell(.withheld([ads]))
        #expect(scene.flights.isEmpty)
        scene.accept(2)
        scene.drain()
        #expect(scene.delivered.map(\.log) == [.normal, .normal])
        scene.tell(.withheld([]))
        #expect(scene.flights.map(\.sequences) == [Array(1...10)])
        #expect(scene.sent.last?.batch != batch, "its bytes are others")
        scene.drain()
        let held = scene.delivered.filter { $0.log == ads }
        #expect(held.map(\.sequence) == Array(1...15))
        #expect(held.allSatisfy { $0.reason == "consent" })
    }

    @Test func theFirstGateThatHeldItIsNamed() throws {
        var scene = try online()
        scene.losePath()
        scene.accept(2, in: ads)
        scene.tell(.withheld([ads]))
        scene.becomeReachable(after: .seconds(5), .ownLink)
        scene.accept(
            1, in: ads,
            circumstances: AcceptContext(
                connectionType: .wifi, destinations: [("main", .consent)]))
        scene.drain()
        #expect(scene.delivered.isEmpty)
        scene.tell(.withheld([]))
        scene.drain()
        #expect(scene.delivered.map(\.reason) == ["connectivity", "connectivity", "consent"])
    }

    @Test func aCheckThatRidesOnABatchGivenUpEnds() throws {
        var scene = Scene(try Scene.settings { $0.flushSpread = .fixed(.zero) })
        scene.accept(2, in: ads)
        scene.tell(.checkDue)
        #expect(scene.flights.map(\.log) == [ads])
        scene.tell(.withheld([ads]))
        #expect(scene.flights.isEmpty && scene.checksEnded == 1)
        scene.tell(.checkDue)
        #expect(scene.flights.map { $0.request.isCheck } == [true], "it is asked without an event")
        scene.answer(200)
        #expect(scene.proofs == 1)
    }

    @Test func whatIsPurgedIsNotSentAnyMore() throws {
        var scene = try online()
        scene.accept(15, in: ads)
        scene.tell(.withheld([ads]))
        scene.settled[ads] = 15
        scene.tell(.moved(CursorMove(destination: "main", log: ads, low: 16, kind: .purged, count: 15)))
        scene.tell(.withheld([]))
        #expect(scene.flights.isEmpty && scene.destination.isDrained)
        scene.accept(1, in: ads)
        scene.drain()
        #expect(scene.delivered.map(\.sequence) == [16] && scene.delivered.allSatisfy { !$0.wasQueued })
    }

    /// A batch with an event that is being purged is given up, and so is what was read of it.
    @Test func aPurgedEventIsNotSentFromMemory() throws {
        var scene = try online()
        scene.accept(15)
        #expect(scene.flights.map(\.sequences) == [Array(1...10)])
        scene.damaged[.normal] = [4, 13]
        scene.tell(.purging(sequence: 4))
        scene.tell(.purging(sequence: 13))
        scene.drain()
        let left: [UInt64] = [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15]
        #expect(scene.delivered.map(\.sequence) == left)
        #expect(scene.destination.isDrained)
    }

    @Test func anEventThatIsBeingSetApartIsReadAnew() throws {
        var scene = try online()
        scene.accept(1, in: ads)
        scene.burialOutcome = .gone
        scene.tell(.withheld([ads]))
        #expect(scene.flights.isEmpty && scene.destination.isIdle)
    }

    @Test func lettersOfACategoryWaitAsWell() throws {
        var scene = try online()
        scene.accept(1, in: ads)
        scene.answer(422)
        #expect(scene.letters.map(\.log) == [ads])
        scene.retried = [(ads, 1)]
        scene.tell(.lettersChanged)
        #expect(scene.flights.map(\.sequences) == [[1]])
        scene.tell(.withheld([ads]))
        #expect(scene.flights.isEmpty)
        scene.tell(.lettersChanged)
        #expect(scene.flights.isEmpty)
        scene.tell(.withheld([]))
        #expect(scene.flights.map(\.sequences) == [[1]])
        scene.drain()
        #expect(scene.resolved.map(\.sequence) == [1])
    }

    @Test func aFlushEndsWithoutWhatIsOnHold() throws {
        var scene = try online()
        scene.losePath()
        scene.accept(3, in: ads)
        scene.accept(3)
        scene.tell(.withheld([ads]))
        scene.becomeReachable(after: .seconds(5), .ownLink)
        scene.drain()
        #expect(scene.notices.contains { if case .flushed(3, _) = $0 { true } else { false } })
    }

    /// However many categories wait, each gets its turn, and memory holds what three lanes may.
    @Test func manyCategoriesTakeTurnsAndShareTheMemory() throws {
        let allowance = 7 * 16_384
        var scene = Scene(
            try Scene.settings { $0.flushSpread = .fixed(.zero) }, allowance: allowance)
        let logs = (0..<40).map { LogName.consent("c\($0)") }
        scene.chunkEvents = 400
        scene.losePath()
        for log in logs { scene.accept(800, in: log) }
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable(after: .seconds(5), .ownLink)
        var turns: [LogName] = []
        while let flight = scene.flights.first {
            let held = scene.destination.backlogs.reduce(0) { $0 + $1.aheadBytes }
            #expect(held < 3 * 2 * 16_384 + 16_384)
            if let log = flight.log { turns.append(log) }
            scene.answer(200)
        }
        // Those that were read take turns, and what becomes free goes to one that had none.
        #expect(Set(turns.prefix(6)).count > 4 && Set(turns.prefix(turns.count / 4)).count > 9)
        #expect(scene.delivered.count == 40 * 800 && scene.destination.isDrained)
        for log in logs {
            #expect(scene.delivered.filter { $0.log == log }.map(\.sequence) == Array(1...800))
        }
    }
}

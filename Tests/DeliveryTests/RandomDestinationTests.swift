import Bytes
import Delivery
import Gates
import Queue
import Reachability
import Testing
import Time

/// Random histories; at every moment the promises hold, and once the world is well again everything is delivered.
struct RandomDestinationTests {
    @Test(arguments: (1...24).map { UInt64($0) }) func promisesHold(seed: UInt64) throws {
        var driver = try Driver(seed: seed)
        for _ in 0..<120 { driver.step() }
        driver.heal()
    }
}

/// Plays reachability, the collector, the operator and time, at random.
private struct Driver {
    private let seed: UInt64
    private var random: SplitMix64
    private var scene: Scene
    private var isReachable = false
    private var hasPath = true
    private var checksDue = 0
    private var proofs = 0
    private var trouble = 0
    private var bodies: [String: [UInt8]] = [:]
    private var arrived: Set<String> = []
    private var verified = 0
    private var settledBefore: [LogName: UInt64] = [:]
    /// Sequence numbers accepted behind a closed gate.
    private var mustBeMarked: [LogName: Set<UInt64>] = [:]
    /// False as long as no gate was closed and nothing failed.
    private var hadTrouble = false
    private let lanes: [LogName] = [.urgent, .normal, .bulk]

    init(seed: UInt64) throws {
        self.seed = seed
        var random = SplitMix64(seed: seed)
        let settings = try Scene.settings {
            $0.batchMaximumEvents = [1, 3, 10, 40].randomElement(using: &random) ?? 1
            $0.flushSpread =
                [.automatic, .fixed(.zero), .fixed(.seconds(5))].randomElement(using: &random) ?? .automatic
        }
        scene = Scene(settings, seed: random.next())
        self.random = random
    }

    mutating func step() {
        switch Int.random(in: 0..<22, using: &random) {
        case 0...5: accept()
        case 6...10: answer()
        case 11: scene.pass(.milliseconds(Int.random(in: 1...30_000, using: &random)))
        case 12: scene.pass(.milliseconds(Int.random(in: 1...2_000, using: &random)))
        case 13: losePath()
        case 14, 15: check()
        case 16: scene.tell(.timer)
        case 17:
            let all: [DeliveryEvent] = [.pause(until: scene.now + .seconds(20)), .resume, .reloaded, .flush]
            operate(all.randomElement(using: &random) ?? .flush)
        case 18: scene.holdsReads.toggle()
        case 19: failRead()
        case 20: damage()
        default: scene.tell(.storage(isDurable: Bool.random(using: &random)))
        }
        settle()
    }

    // MARK: Moves

    private mutating func accept() {
        let lane = lanes.randomElement(using: &random) ?? .normal
        let count = Int.random(in: 1...30, using: &random)
        if scene.context.gate(of: "main") != nil {
            let first = UInt64(scene.logs[lane]?.count ?? 0) + 1
            mustBeMarked[lane, default: []].formUnion(first..<first + UInt64(count))
        }
        scene.accept(count, in: lane)
    }

    private mutating func answer() {
        guard !scene.flights.isEmpty else { return }
        let index = Int.random(in: 0..<scene.flights.count, using: &random)
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
            hadTrouble = true
            scene.fail([.timeout, .reset, .refused, .dns].randomElement(using: &random) ?? .timeout, at: index)
        case 1:
            hadTrouble = true
            scene.answer([503, 429, 500].randomElement(using: &random) ?? 503, at: index)
        case 2:
            hadTrouble = true
            scene.answer([404, 401, 400, 413, 415, 422, 302, 511].randomElement(using: &random) ?? 404, at: index)
        default: scene.answer(200, at: index)
        }
    }

    private mutating func losePath() {
        hadTrouble = true
        hasPath = Bool.random(using: &random)
        if isReachable || !hasPath {
            isReachable = false
            scene.losePath()
        }
    }

    private mutating func check() {
        guard !isReachable, scene.checksEnded == checksDue else { return }
        hasPath = true
        checksDue += 1
        scene.tell(.checkDue)
    }

    private mutating func operate(_ event: DeliveryEvent) {
        hadTrouble = true
        scene.tell(event)
    }

    private mutating func failRead() {
        guard let read = scene.reads.last else { return }
        scene.reads.removeLast()
        scene.tell(.readFailed(read: read.id))
    }

    private mutating func damage() {
        let lane = lanes.randomElement(using: &random) ?? .normal
        let next = UInt64(scene.logs[lane]?.count ?? 0) + 1
        scene.damaged[lane, default: []].formUnion(next...next + UInt64.random(in: 0...12, using: &random))
    }

    // MARK: Consequences and promises

    private mutating func settle() {
        scene.answerReads()
        let newTrouble = scene.failures.count + scene.portals
        if newTrouble > trouble {
            trouble = newTrouble
            isReachable = false
            scene.tell(.connectivity(.closed))
        } else if scene.proofs > proofs, hasPath, !isReachable {
            isReachable = true
            let cause: Outage.Cause = Bool.random(using: &random) ? .ownLink : .destination
            scene.becomeReachable(after: .seconds(Int.random(in: 0...100, using: &random)), cause)
        }
        proofs = scene.proofs
        verify()
    }

    private mutating func verify() {
        let flights = scene.flights.filter { !$0.request.isCheck }
        #expect(flights.filter { $0.log == .urgent }.count <= 1, "seed \(seed)")
        #expect(flights.filter { $0.log != .urgent }.count <= 1, "seed \(seed)")
        #expect(scene.flights.count - flights.count <= 1, "seed \(seed)")
        #expect(scene.checksEnded <= checksDue, "seed \(seed)")
        #expect(scene.destination.isIdle == scene.flights.isEmpty, "seed \(seed)")
        for flight in flights {
            let id = flight.request.headers.first(named: "Idempotency-Key") ?? ""
            let known = bodies[id] ?? flight.request.body
            #expect(known == flight.request.body, "seed \(seed): another body under the same batch id")
            bodies[id] = known
        }
        for letter in scene.letters { arrived.insert("\(letter.log) \(letter.sequence)") }
        arrived.formUnion(scene.delivered[verified...].map { "\($0.log) \($0.sequence)" })
        verified = scene.delivered.count
        for lane in lanes {
            let settled = scene.settled[lane] ?? 0
            for sequence in (settledBefore[lane] ?? 0) + 1..<settled + 1
            where !(scene.damaged[lane]?.contains(sequence) ?? false) {
                #expect(arrived.contains("\(lane) \(sequence)"), "seed \(seed): settled, not delivered")
            }
            settledBefore[lane] = settled
        }
    }

    /// The world is well: everything that was accepted arrives, in order, marked where it must be.
    mutating func heal() {
        scene.holdsReads = false
        scene.tell(.storage(isDurable: true))
        scene.tell(.resume)
        for _ in 0..<2_000 where !(scene.destination.isDrained && scene.destination.isIdle) {
            if !isReachable { check() }
            if scene.flights.isEmpty { scene.pass(.seconds(60)) } else { scene.answer(200) }
            settle()
        }
        if !isReachable { check() }
        while !scene.flights.isEmpty { scene.answer(200) }
        #expect(scene.destination.isDrained, "seed \(seed): not drained")
        #expect(scene.checksEnded == checksDue, "seed \(seed)")
        for lane in lanes {
            let accepted = UInt64(scene.logs[lane]?.count ?? 0)
            #expect(scene.settled[lane] ?? 0 == accepted, "seed \(seed): \(lane)")
            let damaged = (scene.damaged[lane] ?? []).filter { $0 <= accepted }
            let dead = scene.letters.filter { $0.log == lane }.map(\.sequence)
            #expect(UInt64(dead.count) == scene.ledgers[lane]?.dead ?? 0, "seed \(seed): a letter for each dead event")
            let expected = (1...max(accepted, 1)).filter {
                $0 <= accepted && !damaged.contains($0) && !dead.contains($0)
            }
            let got = scene.delivered.filter { $0.log == lane }
            #expect(got.map(\.sequence) == Array(expected), "seed \(seed): \(lane), each once, in order")
            for event in got where mustBeMarked[lane]?.contains(event.sequence) ?? false {
                #expect(event.wasQueued, "seed \(seed): \(lane) \(event.sequence)")
            }
            if !hadTrouble {
                #expect(got.allSatisfy { !$0.wasQueued }, "seed \(seed)")
            }
        }
    }
}

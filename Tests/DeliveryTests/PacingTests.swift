import Bytes
import Queue
import Reachability
import Testing
import Time

@testable import Delivery

struct PacingTests {
    @Test(arguments: [UInt64(1), 7, 1_234]) func backOffIsFullJitterThatDoubles(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            var backOff = BackOff(minimum: .seconds(1), maximum: .seconds(300))
            let first = backOff.next(&random)
            #expect(first == .seconds(1))
            for failures in 1..<100 {
                let wait = backOff.next(&random)
                let bound = min(300.0, Double(1 << min(failures, 20)))
                #expect(wait >= .seconds(1) && wait.inSeconds <= bound, "seed \(seed), failure \(failures)")
            }
            backOff.reset()
            let again = backOff.next(&random)
            #expect(again == .seconds(1))
        }
    }

    @Test func backOffUsesItsWholeRange() {
        var random = SplitMix64(seed: 42)
        var backOff = BackOff(minimum: .seconds(1), maximum: .seconds(60))
        for _ in 0..<10 { _ = backOff.next(&random) }
        let waits = (0..<1_000).map { _ in backOff.next(&random).inSeconds }
        #expect(waits.contains { $0 < 5 } && waits.contains { $0 > 55 })
        #expect((27.0...34.0).contains(waits.reduce(0, +) / 1_000))
    }

    @Test func holdsClimbToAQuarterOfAnHour() {
        var random = SplitMix64(seed: 3)
        var ladder = HoldLadder()
        for minutes in [1.0, 2, 4, 8, 15, 15, 15] {
            let wait = ladder.next(&random).inSeconds / 60
            #expect((minutes * 0.85...minutes * 1.15).contains(wait))
        }
        ladder.reset()
        let first = ladder.next(&random)
        #expect(first < .seconds(70))
    }

    @Test func spreadDependsOnWhoseOutageItWas() {
        var random = SplitMix64(seed: 9)
        func longest(_ spread: DestinationSettings.FlushSpread, _ cause: Outage.Cause, _ duration: Duration) -> Duration
        {
            let outage = Outage(duration: duration, cause: cause)
            return (0..<500).map { _ in spread.delay(after: outage, &random) }.max() ?? .zero
        }
        #expect((1.8...2.0).contains(longest(.automatic, .ownLink, .seconds(3_600)).inSeconds))
        #expect((9.0...10.0).contains(longest(.automatic, .destination, .seconds(40)).inSeconds))
        #expect((540.0...600.0).contains(longest(.automatic, .destination, .seconds(90_000)).inSeconds))
        #expect(longest(.automatic, .start, .milliseconds(40)) <= .milliseconds(10))
        #expect((27.0...30.0).contains(longest(.fixed(.seconds(30)), .ownLink, .seconds(1)).inSeconds))
        #expect(longest(.fixed(.zero), .destination, .seconds(90_000)) == .zero)
    }

    // MARK: The rate

    /// Two requests at a time, sent as soon as may be, taken, refused or never answered after any time: the bounds that
    /// `Pace` promises hold for every pair of requests.
    @Test(arguments: (1...40).map { UInt64($0) }) func noPaceIsLeftBehind(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let rate = [1, 2, 7, 64, 200, 9_999].randomElement(using: &random) ?? 1
        let refusals = Int.random(in: 0...100, using: &random)
        var pace = Pace(rate: rate)
        var now = Instant(nanoseconds: Int64.random(in: 0...10_000_000_000, using: &random))
        var sent: [(at: Instant, events: Int, isRefused: Bool)] = []
        var inFlight: [UInt64] = []
        while sent.count < 300 {
            if inFlight.count < 2, pace.next <= now {
                let events = Int.random(in: 1...Int.random(in: 1...pace.mostEvents, using: &random), using: &random)
                pace.left(UInt64(sent.count), events: events, at: now)
                inFlight.append(UInt64(sent.count))
                sent.append((now, events, false))
            } else if inFlight.isEmpty || inFlight.count == 1 && Bool.random(using: &random) {
                now = max(now, pace.next)
            } else {
                now = now + .microseconds(Int64.random(in: 0...2_000, using: &random))
                let request = inFlight.remove(at: Int.random(in: inFlight.indices, using: &random))
                guard Int.random(in: 0..<100, using: &random) < refusals else { continue }
                sent[Int(request)].isRefused = true
                pace.refused(request)
            }
        }
        expectBounds(sent, rate: rate, "seed \(seed)")
    }

    private func expectBounds(
        _ sent: [(at: Instant, events: Int, isRefused: Bool)], rate: Int, _ comment: Comment,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var worst: (taken: Double, requests: Double, carried: Double) = (0, 0, 0)
        for first in sent.indices {
            var (taken, requests, carried) = (0, 0, 0)
            for one in sent[first...] {
                taken += one.isRefused ? 0 : one.events
                requests += 1
                carried += one.events
                let allowed = Double(rate) * (one.at - sent[first].at).inSeconds + 1e-6
                worst.taken = max(worst.taken, Double(taken) - allowed - Double(rate))
                worst.requests = max(worst.requests, Double(requests) - allowed - 1)
                worst.carried = max(worst.carried, Double(carried) - 10 * allowed - Double(rate))
            }
        }
        #expect(worst.taken <= 0, comment, sourceLocation: sourceLocation)
        #expect(worst.requests <= 0, comment, sourceLocation: sourceLocation)
        #expect(worst.carried <= 0, comment, sourceLocation: sourceLocation)
    }

    /// The same for a whole destination: refused events are found among others, checks and lanes interfere.
    @Test(arguments: (1...16).map { UInt64($0) }) func aDestinationKeepsPace(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let rate = [1, 7, 50, 200].randomElement(using: &random) ?? 1
        let share = [0, 6, 30].randomElement(using: &random) ?? 0
        let settings = try Scene.settings {
            $0.batchMaximumEvents = 500
            $0.maximumEventsPerSecond = rate
            $0.flushSpread = .fixed(.zero)
        }
        var scene = Scene(settings, seed: seed)
        scene.chunkEvents = 1_000
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable()
        for lane in [LogName.normal, .urgent] { scene.accept(rate * 3, in: lane) }
        var sent: [(at: Instant, events: Int, isRefused: Bool)] = []
        var indexOfRequest: [UInt64: Int] = [:]
        var proofs = scene.proofs
        for _ in 0..<4_000 where !(scene.destination.isDrained && scene.destination.isIdle) {
            for flight in scene.flights where !flight.request.isCheck && indexOfRequest[flight.request.id] == nil {
                indexOfRequest[flight.request.id] = sent.count
                sent.append((flight.at, flight.sequences.count, false))
            }
            guard let flight = scene.flights.randomElement(using: &random), Int.random(in: 0..<4, using: &random) > 0
            else {
                scene.pass(.milliseconds(Int.random(in: 1...1_000, using: &random)))
                continue
            }
            let place = scene.flights.firstIndex { $0.request.id == flight.request.id } ?? 0
            if Int.random(in: 0..<30, using: &random) == 0 {
                scene.fail(.timeout, at: place)
                scene.tell(.checkDue)
            } else if flight.sequences.contains(where: { Int($0 &* 0x9E37) % 100 < share }) {
                if let index = indexOfRequest[flight.request.id] { sent[index].isRefused = true }
                scene.answer(400, at: place)
                scene.tell(.resume)
            } else {
                scene.answer(200, at: place)
            }
            if scene.proofs > proofs { scene.becomeReachable() }
            proofs = scene.proofs
        }
        let isDrained = scene.destination.isDrained
        #expect(isDrained, "seed \(seed)")
        expectBounds(sent, rate: rate, "seed \(seed)")
    }

    private static let date = HeaderField(name: "date", value: "Sun, 06 Nov 1994 08:49:37 GMT")

    @Test(
        arguments: [
            ("1", 1), ("120", 120), ("3600", 3_600), ("86400", 3_600), ("99999999999999999999", 3_600), ("0", nil),
            ("-5", nil), ("+5", nil), ("1.5", nil), ("", nil), ("soon", nil), ("5 s", nil),
            ("Sun, 06 Nov 1994 08:50:07 GMT", 30), ("Sunday, 06-Nov-94 08:50:07 GMT", 30),
            ("Sun Nov  6 08:50:07 1994", 30),
            ("Sun, 06 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49:36 GMT", nil),
            ("Mon, 07 Nov 1994 08:49:37 GMT", 3_600), ("Sun, 06 Foo 1994 08:50:07 GMT", nil),
            ("Sun, 06 Nov 1994 08:60:07 GMT", nil), ("Sun, 06 Nov 1994 08:50 GMT", nil),
        ] as [(String, Int?)])
    func readsRetryAfter(value: String, seconds: Int?) {
        let headers = [Self.date, HeaderField(name: "Retry-after", value: value)]
        #expect(RetryAfter.wait(in: headers) == seconds.map { .seconds($0) })
    }

    /// Who was asked for an hour or more comes back within 66 minutes, and not with all others.
    @Test(arguments: [
        (1, 1, 2), (600, 600, 1_200), (1_980, 1_980, 3_960), (2_400, 2_400, 3_960), (3_600, 3_600, 3_960),
    ])
    func whatIsAskedForIsKeptWithinBounds(asked: Int, least: Int, most: Int) {
        #expect(RetryAfter.kept(.seconds(asked)) == .seconds(least) ... .seconds(most))
    }

    @Test func aWaitThatIsAskedForEndsWithinSixtySixMinutes() throws {
        var waits: [Double] = []
        for seed in 1...200 {
            var scene = Scene(try Scene.settings(), seed: UInt64(seed))
            scene.tell(.checkDue)
            scene.answer(200)
            scene.becomeReachable()
            scene.accept(1)
            scene.answer(503, [HeaderField(name: "Retry-After", value: "999999")])
            waits.append(((scene.destination.status.nextAttempt ?? scene.now) - scene.now).inSeconds)
        }
        #expect(waits.allSatisfy { (3_600.0...3_960.0).contains($0) })
        #expect((waits.max() ?? 0) - (waits.min() ?? 0) > 300, "jitter on top of the longest wait")
    }

    @Test(arguments: [("120", "120 s"), ("3599", "3599 s"), ("3600", "an hour or more"), ("999999", "an hour or more")])
    func whatIsAskedForIsSaid(asked: String, said: String) throws {
        var scene = try Scene.online()
        scene.accept(1)
        scene.answer(503, [HeaderField(name: "Retry-After", value: asked)])
        #expect(scene.destination.reasonDetail == "it asked for \(said), and is given some more at random")
        scene.tell(.flush)
        scene.answer(503)
        #expect(scene.destination.reasonDetail == nil, "it asks for nothing any more")
    }

    @Test func aDateWithoutTheAnswersOwnIsNotUnderstood() {
        #expect(RetryAfter.wait(in: [HeaderField(name: "Retry-After", value: Self.date.value)]) == nil)
        #expect(RetryAfter.wait(in: []) == nil)
    }
}

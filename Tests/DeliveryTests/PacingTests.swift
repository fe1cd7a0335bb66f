import Bytes
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

    @Test func aDateWithoutTheAnswersOwnIsNotUnderstood() {
        #expect(RetryAfter.wait(in: [HeaderField(name: "Retry-After", value: Self.date.value)]) == nil)
        #expect(RetryAfter.wait(in: []) == nil)
    }
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


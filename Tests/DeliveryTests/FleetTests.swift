import Bytes
import Posix
import Reachability
import Testing
import Time

@testable import Delivery

/// Thousands of devices whose collector comes back: they do not come at once.
struct FleetTests {
    private static let devices = Process.environment("UPLINKD_THOROUGH_TESTS") == nil ? 1_000 : 10_000

    /// How many requests come in the fullest part of a span, compared to the mean of its parts.
    private func peak(_ times: [Duration], over span: Duration, parts: Int) -> Double {
        var counts = [Int](repeating: 0, count: parts)
        for time in times {
            #expect(time >= .zero && time <= span)
            counts[min(parts - 1, Int(time / span * Double(parts)))] += 1
        }
        return Double(counts.max() ?? 0) * Double(parts) / Double(times.count)
    }

    /// All lose it in the same moment; each finds out by its checks, and what follows the first batch is spread.
    @Test(arguments: [60, 600]) func aCollectorThatComesBackIsNotOverrun(seconds: Int) throws {
        let outage = Duration.seconds(seconds)
        let settings = try Scene.settings { $0.batchMaximumEvents = 1 }
        var first: [Duration] = []
        var second: [Duration] = []
        for seed in 1...UInt64(Self.devices) {
            var device = Device(seed: seed)
            let began = device.loseCollector()
            let back = began + outage
            device.runChecks(until: back)
            first.append(device.now - back)
            var scene = Scene(settings, waiting: 2, seed: seed)
            scene.tell(.checkDue)
            scene.answer(200)
            scene.becomeReachable(after: device.now - began, .destination)
            let proved = scene.now
            while scene.flights.isEmpty, let deadline = scene.destination.deadline { scene.pass(deadline - scene.now) }
            second.append(scene.now - proved)
        }
        #expect(peak(first, over: .seconds(30), parts: 30) <= 3)
        #expect(peak(second, over: (outage + .seconds(30)) / 4, parts: 15) <= 3)
    }

    /// All are answered 503 in the same moment, and from then on whenever they try.
    @Test func backOffScattersWhatIsRefusedForLackOfTime() {
        let outage = Duration.seconds(600)
        let first = (1...UInt64(Self.devices)).map { seed in
            var random = SplitMix64(seed: seed)
            var backOff = BackOff(minimum: .seconds(1), maximum: .seconds(300))
            var now = Duration.zero
            while now < outage { now += backOff.next(&random) }
            return now - outage
        }
        #expect(peak(first, over: .seconds(300), parts: 60) <= 3)
    }

    /// All are asked in the same moment to come back in a minute.
    @Test func whatIsAskedToWaitDoesNotComeBackAtOnce() throws {
        var first: [Duration] = []
        for seed in 1...UInt64(Self.devices) {
            var scene = Scene(try Scene.settings(), waiting: 1, seed: seed)
            scene.tell(.checkDue)
            scene.answer(503, [HeaderField(name: "Retry-After", value: "60")])
            scene.becomeReachable()
            let next = try #require(scene.destination.status.nextAttempt)
            first.append(next - scene.now - .seconds(60))
        }
        #expect(peak(first, over: .seconds(60), parts: 12) <= 3)
    }
}

/// The way to the collector as one device sees it; its path is always there.
private struct Device {
    private var machine: ReachabilityMachine
    private(set) var now = Instant(nanoseconds: 1_000_000_000_000)
    private var isUp = true
    private var checks = 0

    init(seed: UInt64) {
        machine = ReachabilityMachine(settings: ReachabilitySettings(), seed: seed, now: now)
        handle(.timer)
        #expect(machine.state == .reachable)
    }

    /// The moment in which a request failed.
    mutating func loseCollector() -> Instant {
        isUp = false
        handle(.failed(.reset, "gone"))
        return now
    }

    /// Checks in vain until then, and goes on to the first check after it.
    mutating func runChecks(until back: Instant) {
        checks = 0
        while let deadline = machine.deadline {
            now = max(now, deadline)
            let before = checks
            handle(.timer)
            if checks > before, now >= back { return }
        }
    }

    private mutating func handle(_ event: ReachabilityEvent) {
        for effect in machine.handle(event, at: now) {
            switch effect {
            case .evaluate: handle(.path(.local))
            case .check:
                checks += 1
                handle(isUp ? .proved(by: nil) : .failed(.refused, "gone"))
                handle(.checkEnded)
            default: break
            }
        }
    }
}

import Bytes
import Delivery
import Gates
import Intake
import Reachability
import Testing
import Time

@testable import Daemon

/// Destinations in a network that changes at random, with announcements and without, overruns and storms among them.
///
/// Whatever is announced, or lost by an overrun, is looked at within 1.25 s; while a destination is not reachable it
/// has at most one request in flight, and none without a path.
struct RandomNetworkTests {
    private static let patience = Duration.milliseconds(1_250)

    private final class World {
        var coordinator: Coordinator
        var now = Instant(nanoseconds: 1_000_000_000_000)
        var random: SplitMix64
        var hasPath = true
        /// What the kernel said last.
        private var told: [String: Bool] = [:]
        /// When the oldest announcement came that was not looked at since, by destination.
        private var marked: [String: Instant] = [:]
        private var flights: [(ends: Instant, request: OutgoingRequest)] = []
        private(set) var looks = 0
        private(set) var sent = 0
        private var waiting: [CoordinatorEffect] = []

        init(seed: UInt64) throws {
            random = SplitMix64(seed: seed)
            let start = now
            let units = try (UInt64(1)...3).map { number in
                DestinationUnit(
                    reachability: ReachabilityMachine(
                        settings: ReachabilitySettings(checkInterval: .seconds(5)), seed: seed + number, now: start),
                    delivery: Destination(
                        settings: DestinationSettings(
                            name: "d\(number)", url: try DestinationURL("https://192.0.2.\(number)/in")),
                        positions: [], userAgent: "test", seed: seed + number, lastID: number << 40))
            }
            let admission = Admission(
                context: .unknown, recent: RecentEvents(seed: KeyedHash.Seed(low: seed, high: 1)))
            coordinator = Coordinator(units: units, admission: admission, newest: [:], at: start)
        }

        /// The kernel says that something changed, or that what it said was lost.
        func announce(_ cause: String) {
            for unit in coordinator.units where marked[unit.name] == nil { marked[unit.name] = now }
            tell(.networkChanged(by: cause))
        }

        func live(_ span: Duration) {
            let end = now + span
            while let due = ([coordinator.deadline] + flights.map(\.ends)).compactMap({ $0 }).min(), due <= end {
                now = max(now, due)
                if let place = flights.firstIndex(where: { $0.ends <= now }) {
                    let request = flights.remove(at: place).request
                    tell(.answered(request: request.id, outcome()))
                } else {
                    tell(.timer)
                }
                for (name, since) in marked {
                    #expect(now - since <= RandomNetworkTests.patience, "\(name) was not looked at")
                }
            }
            now = end
        }

        func tell(_ event: CoordinatorEvent) {
            waiting += coordinator.handle(event, at: now)
            while !waiting.isEmpty { carryOut(waiting.removeFirst()) }
        }

        private func outcome() -> TransportOutcome {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: .failed(TransportFailure(reason: .timeout, detail: "no answer"))
            case 1: .answer(TransportAnswer(status: 511, isVerifiedPeer: true))
            default: .answer(TransportAnswer(status: 200, isVerifiedPeer: true))
            }
        }

        private func carryOut(_ effect: CoordinatorEffect) {
            switch effect {
            case .inquire(let name, let addresses):
                looks += 1
                marked[name] = nil
                told[name] = hasPath
                let verdict: PathVerdict =
                    hasPath
                    ? .usable(
                        addresses.map {
                            Candidate(
                                address: $0, path: Path(interface: 2), interfaceName: "eth0",
                                connectionType: .ethernet)
                        }) : .none(.noRoute, detail: "no route")
                tell(.path(destination: name, verdict))
            case .send(let request, _): send(request)
            case .cancel(let id): flights.removeAll { $0.request.id == id }
            default: break
            }
        }

        private func send(_ request: OutgoingRequest) {
            sent += 1
            let name = request.destination
            #expect(told[name] == true, "\(name): a request while the kernel says that there is no path")
            let isReachable = coordinator.units.contains { $0.name == name && $0.reachability.state == .reachable }
            let others = flights.count { $0.request.destination == name }
            #expect(isReachable || others == 0, "\(name): a second request while not reachable")
            flights.append((now + .milliseconds(Int.random(in: 1...3_000, using: &random)), request))
        }
    }

    @Test(arguments: UInt64(1)...40)
    func everyAnnouncementIsLookedAtInTime(seed: UInt64) throws {
        let world = try World(seed: seed)
        world.live(.seconds(5))
        for _ in 0..<80 {
            switch Int.random(in: 0..<6, using: &world.random) {
            case 0: world.announce("kernel overrun")
            case 1:
                for _ in 0..<Int.random(in: 1...60, using: &world.random) {
                    world.announce("kernel ipv4-route")
                    world.live(.milliseconds(Int.random(in: 0...100, using: &world.random)))
                }
            case 2:
                world.hasPath.toggle()
                world.announce("kernel link")
            case 3: world.hasPath.toggle()
            case 4: world.tell(.resumed)
            default: world.tell(.flush(destination: "d1"))
            }
            world.live(.milliseconds(Int.random(in: 0...8_000, using: &world.random)))
        }
        #expect(world.looks > 100 && world.sent > 20, "\(world.looks), \(world.sent)")
    }
}

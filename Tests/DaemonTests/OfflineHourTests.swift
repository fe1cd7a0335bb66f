import Bytes
import Delivery
import Gates
import Intake
import Queue
import QueueSimulator
import Reachability
import SystemdService
import Testing
import Time

@testable import Daemon
@testable import SystemdService

/// What the journal gets in an hour without a collector, with an event now and then: the coordinator and the
/// queue are the real ones, time is virtual.
struct OfflineHourTests {
    /// What stands between the daemon and its collector.
    enum Outage: CaseIterable {
        /// No route.
        case noPath
        /// A route, but nobody listens.
        case refused
        /// A route, but no answer within the time limit.
        case silent
        /// A route that comes and goes every 10 seconds, and nobody at its end.
        case flapping
        /// The collector takes one request in ten, and answers 503 to the others.
        case overloaded
        /// Something else answers.
        case portal
    }

    private final class Rig {
        let outage: Outage
        let queue: Queue
        let admission = Admission(context: .unknown, recent: RecentEvents(seed: KeyedHash.Seed(low: 1, high: 2)))
        var coordinator: Coordinator
        var now = Instant(nanoseconds: 1_000_000_000_000)
        var filter = RepeatFilter()
        var lines: [Notice] = []
        var requests = 0
        var ends: [(at: Instant, request: UInt64, TransportOutcome)] = []
        private var waiting: [CoordinatorEffect] = []
        private let began = Instant(nanoseconds: 1_000_000_000_000)

        init(_ outage: Outage) throws {
            self.outage = outage
            var random = SplitMix64(seed: 7)
            var options = QueueOptions(maximumBytes: 4 << 20, keepFree: .bytes(0), block: 512)
            options.firstSegmentBytes = 64 << 10
            options.segmentBytes = 64 << 10
            queue = try Queue.open(
                SimulatedDisk(seed: 7, physicalBlock: 512), options: options, destinations: ["main"],
                at: WallTime(milliseconds: 1), randomBits: { random.next() })
            var settings = DestinationSettings(name: "main", url: try DestinationURL("http://198.51.100.7:8080/in"))
            settings.allowsPlainHTTP = true
            settings.expectHeader = try DestinationSettings.ExpectedHeader("X-Collector: yes")
            let unit = DestinationUnit(
                settings, ReachabilitySettings(checks: true, checkInterval: .seconds(30)), from: queue.snapshot,
                among: 1, number: 1, userAgent: "test", randomBits: { random.next() }, at: now)
            coordinator = Coordinator(units: [unit], admission: admission, newest: [:], at: now)
        }

        /// Lives through ten seconds, at whose beginning the links may have changed, and an event may come.
        func live() {
            let end = now + .seconds(10)
            if (now - began).nanoseconds % 100_000_000_000 == 0 {
                _ = admission.append(Array("{}".utf8).span, to: .normal, acceptedAt: nil)
            }
            tell(.networkChanged(by: "kernel"))
            carryOut(coordinator.endTurn(at: now))
            while let due = ([coordinator.deadline] + ends.map(\.at)).compactMap({ $0 }).min(), due < end {
                now = max(now, due)
                if let place = ends.firstIndex(where: { $0.at <= now }) {
                    let (_, request, outcome) = ends.remove(at: place)
                    tell(.answered(request: request, outcome))
                } else {
                    tell(.timer)
                }
                carryOut(coordinator.endTurn(at: now))
            }
            now = end
            lines += filter.due(at: now)
        }

        func tell(_ event: CoordinatorEvent) { carryOut(coordinator.handle(event, at: now)) }

        private func carryOut(_ effects: [CoordinatorEffect]) {
            for effect in effects {
                switch effect {
                case .commit(let ordinal, let handover):
                    var batches = handover.take()
                    let outcomes = queue.commit(&batches, at: WallTime(milliseconds: 1), age: 1)
                    tell(.committed(ordinal: ordinal, outcomes, BatchHandover(batches)))
                case .read(let name, let id, let log, let from, let limit):
                    let chunk = try? queue.read(log, for: name, from: from, limit: limit, age: 1)
                    tell(.chunk(destination: name, read: id, chunk))
                case .settle(let name, let log, let dispositions):
                    queue.settle(destination: name, log: log, dispositions)
                case .inquire(let name, let addresses):
                    tell(.path(destination: name, verdict(addresses)))
                case .inquireDefault(let name): tell(.defaultRoute(destination: name, verdict([])))
                case .send(let request, _): send(request)
                case .cancel(let request): ends.removeAll { $0.request == request }
                case .notice(let notice): if let line = filter.handle(notice, at: now) { lines.append(line) }
                default: break
                }
            }
        }

        private var hasPath: Bool {
            switch outage {
            case .noPath: false
            case .flapping: (now - began).nanoseconds / 10_000_000_000 % 2 == 0
            default: true
            }
        }

        private func verdict(_ addresses: [IPAddress]) -> PathVerdict {
            guard hasPath else { return .none(.noRoute, detail: "no route") }
            let path = Path(interface: 2, gateway: nil, source: IPAddress([10, 0, 0, 77]))
            return .usable(
                addresses.map { address in
                    Candidate(
                        address: address, path: path, interfaceName: "wwan0", connectionType: .cellular,
                        carrierChanges: 0)
                })
        }

        private func send(_ request: OutgoingRequest) {
            requests += 1
            let headers = [HeaderField(name: "X-Collector", value: "yes")]
            let (span, outcome): (Duration, TransportOutcome) =
                switch outage {
                case .silent:
                    (.seconds(10), .failed(TransportFailure(reason: .timeout, detail: "no answer in 10 s")))
                case .portal: (.milliseconds(30), .answer(TransportAnswer(status: 200, isVerifiedPeer: false)))
                case .overloaded:
                    (
                        .milliseconds(30),
                        .answer(
                            TransportAnswer(
                                status: requests % 10 == 0 ? 200 : 503, headers: headers, isVerifiedPeer: false))
                    )
                default: (.milliseconds(30), .failed(TransportFailure(reason: .refused, detail: "refused")))
                }
            ends.append((now + span, request.id, outcome))
        }
    }

    @Test(arguments: Outage.allCases)
    func anHourIsAtMostSixtyLines(_ outage: Outage) throws {
        let rig = try Rig(outage)
        for _ in 0..<360 { rig.live() }
        let lines = rig.lines.map { "\($0.message)\n" }.joined()
        #expect((1...60).contains(rig.lines.count), "\(lines)")
        #expect(rig.requests > (outage == .noPath ? -1 : 60), "it was tried: \(rig.requests)")
    }
}

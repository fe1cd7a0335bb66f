import Bytes
import Control
import Delivery
import Gates
import Intake
import Queue
import Reachability
import SystemdService
import Testing
import Time

@testable import Daemon

/// Destinations that answer at once, by a cellular network.
final class Rig {
    var coordinator: Coordinator
    var changes: [Change] = []
    var lines: [String] = []
    var now = Instant(nanoseconds: 1_000_000_000_000)
    var hasPath = true
    private let known = [IPAddress(text: "198.51.100.9")].compactMap { $0 }

    init(_ units: [DestinationUnit]) {
        coordinator = Coordinator(
            units: units,
            admission: Admission(context: .unknown, recent: RecentEvents(seed: KeyedHash.Seed(low: 1, high: 2))),
            newest: [:], at: now)
    }

    /// Lives through so many seconds, or until nothing is to be done any more.
    func live(_ span: Duration = .seconds(3)) {
        let end = now + span
        while let due = coordinator.deadline, due <= end {
            now = max(now, due)
            tell(.timer)
        }
        now = end
    }

    /// As the loop's thread does.
    func reload(_ units: [DestinationUnit]) {
        carryOut(coordinator.replaceUnits(units, at: now))
        tell(.networkChanged(by: "reload"))
        tell(.reloaded)
        live()
    }

    /// An event becomes durable.
    func commit(_ log: LogName, first: UInt64) {
        let outcome = CommitOutcome.committed(log: log, epoch: 1, first: first, count: 1)
        tell(.committed(ordinal: first, [outcome], BatchHandover([])))
    }

    func tell(_ event: CoordinatorEvent) { carryOut(coordinator.handle(event, at: now)) }

    private func carryOut(_ effects: [CoordinatorEffect]) {
        for effect in effects {
            switch effect {
            case .inquire(let name, let addresses): tell(.path(destination: name, path(addresses, .cellular)))
            case .inquireDefault(let name): tell(.defaultRoute(destination: name, path([nil], .ethernet)))
            case .resolve(let host): tell(.resolved(host: host, known, failure: nil))
            case .send(let request, _):
                let answer = TransportAnswer(status: 200, isVerifiedPeer: true)
                tell(.answered(request: request.id, .answer(answer)))
            case .change(let change): changes.append(change)
            case .notice(let notice): lines.append(notice.message)
            default: break
            }
        }
    }

    private func path(_ addresses: [IPAddress?], _ type: ConnectionType) -> PathVerdict {
        guard hasPath else { return .none(.noRoute, detail: "no route") }
        return .usable(
            addresses.map { address in
                Candidate(
                    address: address, path: Path(interface: 2), interfaceName: "wwan0", connectionType: type)
            })
    }

    static func unit(
        _ name: String, batch: Int = 500, policy: NetworkPolicy = .any, number: UInt64
    ) throws -> DestinationUnit {
        var settings = DestinationSettings(name: name, url: try DestinationURL("https://\(name).example/in"))
        settings.batchMaximumEvents = batch
        settings.networkPolicy = policy
        return DestinationUnit(
            reachability: ReachabilityMachine(
                settings: ReachabilitySettings(checks: true, checkInterval: .seconds(30)), seed: number,
                now: Instant(nanoseconds: 1_000_000_000_000)),
            delivery: Destination(
                settings: settings, positions: [], userAgent: "test", bodyAllowanceBytes: 1 << 20, seed: number,
                lastID: number << 40))
    }
}

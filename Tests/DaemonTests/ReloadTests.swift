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

/// A reload changes what those who watch are told of a destination only where it changes that destination.
struct ReloadTests {
    /// Destinations that answer at once, by a cellular network.
    private final class Rig {
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
    }

    private func unit(
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

    @Test func whatStaysTheSameIsNotTold() throws {
        let rig = Rig([try unit("a", number: 1), try unit("b", number: 2)])
        rig.live()
        #expect(rig.coordinator.units.allSatisfy { $0.reachability.state == .reachable })
        #expect(rig.changes.first { $0.kind == .state }?.cause == "start")
        (rig.changes, rig.lines) = ([], [])
        rig.reload(rig.coordinator.units)
        #expect(rig.changes.isEmpty && rig.lines.isEmpty, "nothing changed")

        rig.reload([try unit("a", batch: 100, number: 3), rig.coordinator.units[1]])
        #expect(rig.coordinator.units.allSatisfy { $0.reachability.state == .reachable })
        #expect(rig.coordinator.connectionType == .cellular)
        #expect(!rig.changes.contains { $0.kind == .network || $0.destination == "b" }, "\(rig.changes)")
        #expect(rig.changes.first { $0.kind == .state }?.cause == "reload")
        #expect(!rig.lines.contains { $0.contains("network") || $0.contains(" b ") }, "\(rig.lines)")
        #expect(!rig.changes.contains { $0.kind == .gate }, "\(rig.changes)")
    }

    @Test func whatWaitsForConsentIsToldWhenItComesAndWhenItIsGone() throws {
        let rig = Rig([try unit("a", number: 1)])
        rig.live()
        rig.tell(.consent(.asked(.hold, of: "ads")))
        rig.tell(.consent(.answered(.hold, of: "ads", isDurable: true)))
        #expect(!rig.changes.contains { $0.kind == .gate }, "nothing waits yet")
        let log = LogName.consent("ads")
        rig.commit(log, first: 1)
        #expect(rig.changes.last { $0.kind == .gate }?.to == "consent (consent-ads)", "at once")
        rig.commit(log, first: 2)
        rig.tell(.moved([CursorMove(destination: "a", log: log, low: 2, kind: .expired, count: 1)]))
        rig.tell(.moved([CursorMove(destination: "a", log: log, low: 3, kind: .expired, count: 1)]))
        rig.commit(.normal, first: 1)
        let told = rig.changes.filter { $0.kind == .gate }
        #expect(told.map(\.to) == ["consent (consent-ads)", "open"])
    }

    @Test func eachGateIsTold() throws {
        let bulkByWiFi = NetworkPolicy(own: [.bulk: [.wifi]])
        let rig = Rig([try unit("a", policy: bulkByWiFi, number: 1)])
        rig.live()
        rig.hasPath = false
        rig.tell(.networkChanged(by: "kernel"))
        rig.live()
        rig.tell(.pause(destination: "a", until: nil))
        rig.tell(.resume(destination: "a"))
        let told = rig.changes.filter { $0.kind == .gate }
        #expect(
            told.map(\.to) == [
                "policy (bulk)", "connectivity, policy (bulk)", "connectivity, paused, policy (bulk)",
                "connectivity, policy (bulk)",
            ])
        #expect(told.map(\.from) == ["open"] + told.dropLast().map(\.to))
        #expect(told.first?.detail == "bulk waits for wifi; the network is ethernet")
        rig.hasPath = true
        rig.reload([try unit("a", number: 2)])
        #expect(rig.changes.last { $0.kind == .gate }?.to == "open", "the unit is another")
    }
}

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
    @Test func whatStaysTheSameIsNotTold() throws {
        let rig = Rig([try Rig.unit("a", number: 1), try Rig.unit("b", number: 2)])
        rig.live()
        #expect(rig.coordinator.units.allSatisfy { $0.reachability.state == .reachable })
        #expect(rig.changes.first { $0.kind == .state }?.cause == "start")
        (rig.changes, rig.lines) = ([], [])
        rig.reload(rig.coordinator.units)
        #expect(rig.changes.isEmpty && rig.lines.isEmpty, "nothing changed")

        rig.reload([try Rig.unit("a", batch: 100, number: 3), rig.coordinator.units[1]])
        #expect(rig.coordinator.units.allSatisfy { $0.reachability.state == .reachable })
        #expect(rig.coordinator.connectionType == .cellular)
        #expect(!rig.changes.contains { $0.kind == .network || $0.destination == "b" }, "\(rig.changes)")
        #expect(rig.changes.first { $0.kind == .state }?.cause == "reload")
        #expect(!rig.lines.contains { $0.contains("network") || $0.contains(" b ") }, "\(rig.lines)")
        #expect(!rig.changes.contains { $0.kind == .gate }, "\(rig.changes)")
    }

    @Test func whatWaitsForConsentIsToldWhenItComesAndWhenItIsGone() throws {
        let rig = Rig([try Rig.unit("a", number: 1)])
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
        let rig = Rig([try Rig.unit("a", policy: bulkByWiFi, number: 1)])
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
        rig.reload([try Rig.unit("a", number: 2)])
        #expect(rig.changes.last { $0.kind == .gate }?.to == "open", "the unit is another")
    }
}

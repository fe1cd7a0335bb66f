import Gates
import Queue
import Reachability
import Testing
import Time

@testable import Delivery

/// What may leave by which kind of network.
struct NetworkPolicyTests {
    private func online(_ policy: NetworkPolicy, by type: ConnectionType) throws -> Scene {
        var scene = Scene(
            try Scene.settings {
                $0.networkPolicy = policy
                $0.flushSpread = .fixed(.zero)
            })
        scene.tell(.connectionType(type))
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable()
        return scene
    }

    @Test func whatMayNotLeaveWaits() throws {
        var scene = try online(NetworkPolicy(general: [.wifi]), by: .cellular)
        #expect(scene.proofs == 1, "a check is made by any network")
        #expect(scene.destination.gates.current == .policy)
        #expect(scene.destination.status.reason == .policy)
        #expect(scene.destination.reasonDetail == "all waits for wifi; the network is cellular")
        scene.accept(25)
        scene.accept(5, in: .urgent)
        #expect(scene.flights.isEmpty && scene.reads.isEmpty)
        scene.tell(.connectionType(.wifi))
        #expect(scene.destination.gates.current == nil)
        #expect(scene.destination.status.reason == .none)
        scene.accept(1)
        scene.drain()
        #expect(scene.delivered.filter { $0.log == .normal }.map(\.sequence) == Array(1...26))
        let first = scene.delivered.filter { $0.log == .urgent || $0.sequence <= 25 }
        #expect(first.count == 30 && first.allSatisfy { $0.wasQueued && $0.reason == "policy" })
        #expect(scene.delivered.filter { !$0.wasQueued }.map(\.sequence) == [26])
    }

    @Test func oneLaneWaitsAndHoldsUpNoOther() throws {
        var scene = try online(NetworkPolicy(own: [.bulk: [.wifi, .ethernet]]), by: .cellular)
        #expect(scene.destination.gates.current == nil && scene.destination.status.reason == .none)
        scene.accept(12, in: .bulk)
        scene.accept(12)
        scene.drain()
        #expect(scene.destination.status.reason == .policy)
        #expect(scene.destination.reasonDetail == "bulk waits for ethernet or wifi; the network is cellular")
        #expect(scene.delivered.map(\.log) == [LogName](repeating: .normal, count: 12))
        #expect(scene.delivered.allSatisfy { !$0.wasQueued })
        scene.tell(.connectionType(.wifi))
        scene.drain()
        #expect(scene.destination.status.reason == .none && scene.destination.reasonDetail == nil)
        let bulk = scene.delivered.filter { $0.log == .bulk }
        #expect(bulk.map(\.sequence) == Array(1...12))
        #expect(bulk.allSatisfy { $0.reason == "policy" })
    }

    @Test func aLaneWithItsOwnTypesGoesWhereOthersMayNot() throws {
        var scene = try online(NetworkPolicy(general: [.wifi], own: [.urgent: [.wifi, .cellular]]), by: .cellular)
        scene.accept(3)
        scene.accept(3, in: .urgent)
        scene.drain()
        #expect(scene.delivered.map(\.log) == [.urgent, .urgent, .urgent])
        #expect(scene.destination.reasonDetail == "normal and bulk wait for wifi; the network is cellular")
        scene.tell(.connectionType(.wifi))
        scene.drain()
        #expect(scene.delivered.filter { $0.log == .normal }.map(\.reason) == ["policy", "policy", "policy"])
    }

    /// A batch that failed by one network, and may not go by the next, stands in nobody's way.
    @Test func aBatchToBeTriedAgainGivesItsPlaceUp() throws {
        var scene = try online(NetworkPolicy(own: [.bulk: [.wifi]]), by: .wifi)
        scene.accept(10, in: .bulk)
        #expect(scene.flights.map(\.log) == [.bulk])
        scene.fail(.reset)
        scene.losePath()
        scene.tell(.connectionType(.none))
        scene.tell(.connectionType(.cellular))
        scene.accept(2)
        scene.tell(.checkDue)
        #expect(scene.flights.map(\.log) == [.normal])
        scene.answer(200)
        scene.becomeReachable()
        scene.drain()
        #expect(scene.delivered.map(\.log) == [.normal, .normal])
        scene.tell(.connectionType(.wifi))
        scene.drain()
        #expect(scene.delivered.filter { $0.log == .bulk }.map(\.sequence) == Array(1...10))
    }

    /// While there is no path, the connectivity gate is the reason.
    @Test func noPathIsNoNetworkOfAKind() throws {
        var scene = try online(NetworkPolicy(general: [.wifi]), by: .wifi)
        scene.losePath()
        scene.tell(.connectionType(.none))
        scene.accept(3)
        #expect(!scene.destination.gates.isClosed(.policy))
        scene.tell(.connectionType(.wifi))
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable()
        scene.drain()
        #expect(scene.delivered.map(\.reason) == ["connectivity", "connectivity", "connectivity"])
    }

    /// Reachability tells a type that stays unknown with nothing but what it asks for.
    @Test func anUnknownNetworkIsAKind() throws {
        var scene = Scene(try Scene.settings { $0.networkPolicy = NetworkPolicy(general: [.wifi]) }, waiting: 3)
        #expect(scene.destination.gates.current == nil, "nothing is known yet")
        scene.tell(.checkDue)
        #expect(scene.destination.gates.current == .policy)
        #expect(scene.flights.map(\.log) == [nil], "a check without events")
    }

    @Test func aLetterIsSentAgainOnlyByWhatItsLaneMay() throws {
        var scene = try online(NetworkPolicy(own: [.bulk: [.wifi]]), by: .wifi)
        scene.accept(1, in: .bulk)
        scene.drain()
        scene.tell(.connectionType(.cellular))
        scene.retried = [(.bulk, 1)]
        scene.tell(.lettersChanged)
        #expect(scene.flights.isEmpty)
        scene.accept(3)
        scene.drain()
        #expect(scene.delivered.map(\.log) == [.bulk, .normal, .normal, .normal] && scene.resolved.isEmpty)
        scene.tell(.connectionType(.wifi))
        scene.drain()
        #expect(scene.resolved.map(\.log) == [.bulk])
    }

    @Test func aLetterThatMayNotLeaveHoldsUpNoOther() throws {
        var scene = try online(NetworkPolicy(own: [.bulk: [.wifi]]), by: .wifi)
        scene.accept(2, in: .bulk)
        scene.accept(2)
        scene.drain()
        scene.retried = [(.bulk, 1), (.normal, 1), (.bulk, 2), (.normal, 2)]
        scene.tell(.connectionType(.cellular))
        scene.tell(.lettersChanged)
        scene.drain()
        #expect(scene.resolved.map(\.log) == [.normal, .normal])
        scene.tell(.connectionType(.wifi))
        #expect(scene.flights.map(\.log) == [.bulk], "letters go one by one")
        scene.tell(.connectionType(.cellular))
        scene.drain()
        #expect(scene.resolved.count == 3 && scene.destination.isIdle, "\(scene.resolved)")
        scene.tell(.connectionType(.wifi))
        scene.drain()
        #expect(scene.resolved.map(\.log) == [.normal, .normal, .bulk, .bulk])
    }
}

import Control
import Delivery
import Gates
import Queue
import Testing
import Time

@testable import Daemon

/// Those who watch are told why something changed, never what was the reason before.
struct CauseTests {
    private static let isOver = "The pause of destination a is over"

    private func gates(_ rig: Rig) -> [String] {
        rig.changes.filter { $0.kind == .gate }.map { "\($0.from ?? "") -> \($0.to ?? "") by \($0.cause ?? "")" }
    }

    @Test func aPauseEndsByItsTime() throws {
        let rig = Rig([try Rig.unit("a", number: 1)])
        rig.live()
        rig.tell(.pause(destination: "a", until: rig.now + .seconds(3)))
        rig.live(.seconds(2))
        #expect(gates(rig) == ["open -> paused by operator"] && !rig.lines.contains(Self.isOver))
        rig.live(.seconds(2))
        #expect(gates(rig).dropFirst() == ["paused -> open by timer"])
        #expect(rig.lines.filter { $0 == Self.isOver }.count == 1)

        rig.tell(.pause(destination: "a", until: rig.now + .seconds(3)))
        rig.now = rig.now + .seconds(3)
        rig.commit(.normal, first: 1)
        #expect(gates(rig).last == "paused -> open by timer", "whatever comes first")
        #expect(rig.lines.filter { $0 == Self.isOver }.count == 2)

        for span in [nil, Duration.seconds(1)] {
            rig.tell(.pause(destination: "a", until: span.map { rig.now + $0 }))
            rig.now = rig.now + .seconds(2)
            rig.tell(.resume(destination: "a"))
            #expect(gates(rig).last == "paused -> open by operator")
        }
        #expect(rig.lines.filter { $0 == Self.isOver }.count == 2)
    }

    @Test func aReloadKeepsAPauseOrEndsIt() throws {
        let rig = Rig([try Rig.unit("a", number: 1)])
        rig.live()
        rig.tell(.pause(destination: "a", until: rig.now + .seconds(100)))
        rig.reload([try Rig.unit("a", batch: 100, number: 2)])
        #expect(rig.coordinator.units[0].delivery.status.isPaused && !rig.lines.contains(Self.isOver))
        rig.now = rig.now + .seconds(100)
        rig.reload([try Rig.unit("a", batch: 200, number: 3)])
        #expect(!rig.coordinator.units[0].delivery.status.isPaused)
        #expect(gates(rig) == ["open -> paused by operator", "paused -> open by timer"])
        #expect(rig.lines.filter { $0 == Self.isOver }.count == 1)
    }

    /// What waits for consent closes a gate by an event, and opens it with whatever takes it away.
    @Test func whatComesAndGoesIsTheCause() throws {
        for (kind, cause) in [(Disposition.Kind.expired, "timer"), (.evicted, "event"), (.purged, "operator")] {
            let rig = Rig([try Rig.unit("a", number: 1)])
            rig.live()
            rig.tell(.consent(.asked(.hold, of: "ads")))
            rig.tell(.consent(.answered(.hold, of: "ads", isDurable: true)))
            let log = LogName.consent("ads")
            rig.commit(log, first: 1)
            rig.tell(.moved([CursorMove(destination: "a", log: log, low: 2, kind: kind, count: 1)]))
            let closed = "consent (consent-ads)"
            #expect(gates(rig) == ["open -> \(closed) by event", "\(closed) -> open by \(cause)"])
        }
    }
}

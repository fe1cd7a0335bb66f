import Bytes
import Daemon
import Gates
import Intake
import Queue
import Testing
import Time

/// `CommitDelay=` gathers what comes within it into one commit.
struct CommitDelayTests {
    private struct Rig {
        let admission = Admission(context: .unknown, recent: RecentEvents(seed: KeyedHash.Seed(low: 1, high: 2)))
        var coordinator: Coordinator
        var now = Instant(nanoseconds: 1_000_000_000)
        var handedOver: [UInt64: BatchHandover] = [:]

        init(_ delay: Duration) {
            coordinator = Coordinator(units: [], admission: admission, newest: [:], commitDelay: delay, at: now)
        }

        mutating func post(_ bytes: Int) {
            let event = [UInt8](repeating: 0x20, count: bytes)
            _ = admission.append(event.span, to: .normal, acceptedAt: nil)
        }

        /// Ends a turn; the commits that began.
        mutating func endTurn() -> [UInt64] {
            var begun: [UInt64] = []
            for case .commit(let ordinal, let batches) in coordinator.endTurn(at: now) {
                handedOver[ordinal] = batches
                begun.append(ordinal)
            }
            return begun
        }

        mutating func finish(_ ordinal: UInt64) {
            guard let batches = handedOver[ordinal] else { return }
            let outcomes = batches.take().map { batch in
                CommitOutcome.committed(log: .normal, epoch: 1, first: ordinal, count: batch.count)
            }
            _ = coordinator.handle(.committed(ordinal: ordinal, outcomes, BatchHandover([])), at: now)
        }
    }

    @Test func withoutItEachTurnCommits() {
        var rig = Rig(.zero)
        rig.post(10)
        #expect(rig.endTurn() == [1])
        rig.post(10)
        #expect(rig.endTurn().isEmpty, "one is in hand")
        rig.finish(1)
        #expect(rig.endTurn() == [2])
    }

    @Test func withItTheFirstEventWaitsAndNoLonger() {
        var rig = Rig(.milliseconds(50))
        rig.post(10)
        #expect(rig.endTurn().isEmpty)
        #expect(rig.coordinator.deadline == rig.now + .milliseconds(50))
        rig.now = rig.now + .milliseconds(49)
        rig.post(10)
        #expect(rig.endTurn().isEmpty)
        rig.now = rig.now + .milliseconds(1)
        #expect(rig.endTurn() == [1])
        #expect(rig.handedOver[1]?.take().map(\.count) == [2])
        rig.post(10)
        #expect(rig.endTurn().isEmpty)
        rig.now = rig.now + .milliseconds(100)
        #expect(rig.endTurn().isEmpty, "one is in hand")
        rig.finish(1)
        #expect(rig.endTurn() == [2], "it waited meanwhile")
    }

    @Test func aMegabyteWaitsForNothing() {
        var rig = Rig(.seconds(10))
        for _ in 0..<7 { rig.post(150_000) }
        #expect(rig.endTurn() == [1])
    }

    @Test func theStopWaitsForNothing() {
        var rig = Rig(.seconds(10))
        rig.post(10)
        #expect(rig.endTurn().isEmpty)
        _ = rig.coordinator.handle(.stop, at: rig.now)
        #expect(rig.endTurn() == [1])
    }
}

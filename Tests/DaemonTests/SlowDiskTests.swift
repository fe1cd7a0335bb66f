import Bytes
import Gates
import Intake
import Queue
import Testing
import Time

@testable import Daemon

/// A disk call older than 1 s is told of, older than 10 s keeps new events out, older than 5 min stops the watchdog.
struct SlowDiskTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    @Test func theWatchdogStopsAfterFiveMinutes() {
        let pulse = DiskPulse()
        #expect(pulse.isAlive(at: start + .seconds(100_000)), "there is no work")
        pulse.begin(at: start)
        #expect(pulse.isAlive(at: start + .seconds(299)))
        #expect(!pulse.isAlive(at: start + .seconds(300)))
        pulse.end()
        #expect(pulse.isAlive(at: start + .seconds(301)))
    }

    @Test func statusTellsAfterASecond() {
        let pulse = DiskPulse()
        #expect(pulse.slowness(at: start + .seconds(100)) == nil)
        pulse.begin(at: start)
        #expect(pulse.slowness(at: start + .seconds(1)) == nil)
        #expect(pulse.slowness(at: start + .milliseconds(4_001)) == "the disk has not answered for 4 s")
        pulse.end()
        #expect(pulse.slowness(at: start + .seconds(100)) == nil)
    }

    @Test func intakeRefusesAfterTenSecondsUntilTheCommitEnds() throws {
        let admission = Admission(context: .unknown, recent: RecentEvents(seed: KeyedHash.Seed(low: 1, high: 2)))
        var coordinator = Coordinator(units: [], admission: admission, newest: [:], commitDelay: .zero, at: start)
        let event = Array("{}".utf8)
        _ = admission.append(event.span, to: .normal, acceptedAt: nil)
        let effects = coordinator.endTurn(at: start)
        guard case .commit(let ordinal, _) = try #require(effects.first) else {
            Issue.record("\(effects)")
            return
        }
        let due = start + .seconds(10)
        #expect(coordinator.deadline.map { $0 <= due } ?? false, "it looks at it by itself")
        _ = coordinator.handle(.timer, at: start + .milliseconds(9_999))
        #expect(admission.refusal == nil)
        let told = coordinator.handle(.timer, at: due)
        #expect(admission.refusal?.reason == .diskSlow)
        #expect(admission.refusal?.retryAfterSeconds ?? 0 > 0)
        #expect(told.contains { if case .notice = $0 { true } else { false } })
        let outcome = CommitOutcome.committed(log: .normal, epoch: 1, first: 1, count: 1)
        _ = coordinator.handle(
            .committed(ordinal: ordinal, [outcome], BatchHandover([])), at: due + .seconds(1))
        #expect(admission.refusal == nil)
    }
}

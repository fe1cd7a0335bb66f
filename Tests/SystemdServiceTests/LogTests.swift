import Bytes
import Posix
import Testing
import Time

@testable import SystemdService

struct RepeatFilterTests {
    private func second(_ count: Int64) -> Instant { Instant(nanoseconds: count * 1_000_000_000) }

    private func lost(_ name: String, _ detail: String = "") -> Notice {
        .destinationChanged(name, from: "reachable", to: "unreachable", reason: "timeout", detail: detail)
    }

    @Test func theFirstIsWrittenAndTheLastStandsForTheRest() {
        var filter = RepeatFilter()
        #expect(filter.handle(lost("a", "1"), at: second(0)) == lost("a", "1"))
        #expect(filter.handle(lost("a", "2"), at: second(10)) == nil)
        #expect(filter.handle(lost("a", "3"), at: second(20)) == nil)
        #expect(filter.handle(lost("b"), at: second(20)) == lost("b"))
        #expect(filter.nextDue == second(60))
        #expect(filter.due(at: second(59)).isEmpty)
        let due = filter.due(at: second(60))
        #expect(due.map(\.message) == [lost("a", "3").message + " (2 times since the last such line)"])
        #expect(due.first?.fields[.repeated] == "2")
        #expect(filter.nextDue == nil)
    }

    @Test func afterAQuietMinuteTheNextIsWrittenAtOnce() {
        var filter = RepeatFilter()
        #expect(filter.handle(lost("a"), at: second(0)) != nil)
        _ = filter.due(at: second(61))
        #expect(filter.handle(lost("a"), at: second(61)) != nil)
    }

    /// The last word on whether it is held is the newest, however often that changed.
    @Test func theLastWordOnAStateIsTheNewest() {
        var filter = RepeatFilter()
        func held(_ detail: String) -> Notice { .destinationHeld("a", reason: "unauthorized", detail: detail) }
        let released = Notice.destinationReleased("a", events: 0)
        #expect(filter.handle(released, at: second(0)) == released)
        #expect(filter.handle(held("1"), at: second(10)) == held("1"))
        #expect(filter.handle(.destinationReleased("b", events: 0), at: second(11)) != nil)
        #expect(filter.handle(held("2"), at: second(20)) == nil)
        #expect(filter.handle(.destinationReleased("b", events: 0), at: second(21)) == nil)
        #expect(filter.handle(released, at: second(30)) == nil)
        #expect(filter.handle(held("3"), at: second(40)) == nil)
        #expect(filter.due(at: second(59)).isEmpty)
        #expect(filter.due(at: second(60)) == [held("3").standing(for: 3)])
        #expect(filter.due(at: second(71)).map(\.message) == [Notice.destinationReleased("b", events: 0).message])
        #expect(filter.rest().isEmpty)
    }

    @Test func whatIsWrittenAtOnceStandsForWhatItOutdates() {
        var filter = RepeatFilter()
        let cured = Notice.storageCured(after: .seconds(1))
        let failed = Notice.storageFailed(.io, file: "f")
        _ = filter.handle(failed, at: second(0))
        #expect(filter.handle(failed, at: second(1)) == nil)
        #expect(filter.handle(cured, at: second(2)) == cured.standing(for: 2))
        #expect(filter.rest().isEmpty)
    }

    @Test func theLastIsKeptAtTheEnd() {
        var filter = RepeatFilter()
        _ = filter.handle(lost("a", "1"), at: second(0))
        _ = filter.handle(lost("a", "2"), at: second(1))
        #expect(filter.rest() == [lost("a", "2")])
    }

    @Test func problemsAtOtherPlacesAreNoRepeats() {
        var filter = RepeatFilter()
        for line in 1...5 {
            #expect(
                filter.handle(.configurationProblem(isError: true, at: "f:\(line):1", "x"), at: second(0)) != nil)
        }
        for _ in 1...5 { #expect(filter.handle(.stopping(reason: "SIGTERM"), at: second(0)) != nil) }
    }

    /// An hour of a destination that comes and goes each second, through three kinds, is at most 60 lines.
    @Test func anHourIsBounded() {
        var filter = RepeatFilter()
        var written: [Notice] = []
        let states = ["verifying", "reachable", "unreachable"]
        for moment in Int64(0)..<3_600 {
            written += filter.due(at: second(moment))
            let notice = Notice.destinationChanged("a", from: "x", to: states[Int(moment % 3)], reason: "timeout")
            if let now = filter.handle(notice, at: second(moment)) { written.append(now) }
        }
        written += filter.rest()
        #expect((15...60).contains(written.count), "\(written.count)")
        let counts = written.map { $0.fields[.repeated].flatMap { Int($0) } ?? 1 }
        #expect(counts.reduce(0, +) == 3_600)
    }

    /// Each try is made in another file.
    @Test func aDiskThatKeepsFailingIsOneNotice() {
        var filter = RepeatFilter()
        let written = (0..<100).compactMap { number in
            filter.handle(.storageFailed(.io, file: "normal/\(number).segment", offset: 512), at: second(number / 10))
        }
        #expect(written.count == 1)
        #expect(filter.handle(.storageFailed(.readOnly, file: "normal/7.segment"), at: second(10)) != nil)
    }

    @Test func memoryIsBounded() {
        var filter = RepeatFilter()
        for number in 0..<1_000 { #expect(filter.handle(lost("d\(number)"), at: second(0)) != nil) }
        #expect(filter.handle(lost("d0"), at: second(1)) == nil)
        #expect(filter.handle(lost("d999"), at: second(1)) != nil)
    }
}

struct LogThreadTests {
    @Test func whatIsLoggedIsWrittenInOrder() throws {
        let written = Lock([String]())
        let log = try LogThread { notice in written.with { $0.append(notice.message) } }
        for number in 0..<500 { log.log(.stopping(reason: "\(number)")) }
        #expect(log.flushAndStop(atMost: .seconds(30)))
        #expect(written.with { $0 } == (0..<500).map { "Stopping: \($0)" })
    }

    @Test func whatWasHeldBackIsWrittenBeforeTheLastLine() throws {
        let written = Lock([String]())
        let log = try LogThread { notice in written.with { $0.append(notice.message) } }
        for number in 0..<3 {
            log.log(.destinationChanged("a", from: "reachable", to: "no-path", reason: "link", detail: "\(number)"))
        }
        log.log(.stopped(queued: 7))
        #expect(log.flushAndStop(atMost: .seconds(30)))
        let lines = written.with { $0 }
        #expect(lines.count == 3 && lines[1].hasSuffix("(2 times since the last such line)"))
        #expect(lines.last == "Stopped; on disk: 7 events")
    }

    /// A journal that does not read: nobody waits, what does not fit is counted, the end has its limit.
    @Test func aStuckJournalHoldsNobodyUp() throws {
        let gate = Lock(false)
        let written = Lock([String]())
        let log = try LogThread { notice in
            gate.wait(until: { $0 }) { _ in }
            written.with { $0.append(notice.message) }
        }
        log.log(.stopping(reason: "first"))
        for number in 0..<3_000 { log.log(.stopping(reason: "\(number)")) }
        #expect(!log.flushAndStop(atMost: .milliseconds(50)))
        log.log(.stopping(reason: "too late"))
        gate.with { $0 = true }
        gate.wake()
        #expect(log.flushAndStop(atMost: .seconds(30)))
        let lines = written.with { $0 }
        #expect(lines.contains { $0.hasSuffix("log lines were dropped") })
        #expect(!lines.contains("Stopping: too late"))
        let dropped = lines.compactMap { line in Int(line.split(separator: " ")[0]) }.reduce(0, +)
        #expect(lines.filter { $0.hasPrefix("Stopping") }.count + dropped == 3_001)
    }

    @Test func theTargetIsChosenByTheSurroundings() {
        var around = LogTarget.Surroundings(
            journalStream: nil, standardError: "8:1", systemdProcess: nil, process: 7, hasJournal: true)
        #expect(LogTarget.chosen(around) == .standardError(withPriority: false))
        around.systemdProcess = "6"
        #expect(LogTarget.chosen(around) == .standardError(withPriority: false))
        around.systemdProcess = "7"
        #expect(LogTarget.chosen(around) == .journal)
        around.systemdProcess = nil
        around.journalStream = "8:2"
        #expect(LogTarget.chosen(around) == .standardError(withPriority: false))
        around.journalStream = "8:1"
        #expect(LogTarget.chosen(around) == .journal)
        around.hasJournal = false
        #expect(LogTarget.chosen(around) == .standardError(withPriority: true))
    }
}

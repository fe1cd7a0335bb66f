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
        let remark = " (2 times since the last such line, the last 40 s ago)"
        #expect(due.map(\.message) == [lost("a", "3").message + remark])
        #expect(due.first?.fields[.repeated] == "2" && due.first?.fields[.heldBack] == "40")
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
        #expect(filter.due(at: second(60)) == [held("3").standing(for: 2, after: .seconds(20))])
        #expect(
            filter.due(at: second(71)).map(\.message)
                == [Notice.destinationReleased("b", events: 0).message + " (50 s ago)"])
        #expect(filter.rest(at: second(71)).isEmpty)
    }

    /// Three outages in 25 seconds: each line counts those that say the same, and nothing else.
    @Test func aLineCountsOnlyItsOwnKind() {
        var filter = RepeatFilter()
        func back() -> Notice { .destinationChanged("a", from: "unreachable", to: "reachable", reason: "none") }
        for start in [Int64(0), 10, 20] {
            #expect((filter.handle(lost("a"), at: second(start)) != nil) == (start == 0))
            #expect((filter.handle(back(), at: second(start + 5)) != nil) == (start == 0))
        }
        let due = filter.due(at: second(60))
        #expect(due.map(\.message) == [back().message + " (2 times since the last such line, the last 35 s ago)"])
        #expect(filter.handle(lost("a"), at: second(90)) == nil)
        let later = filter.due(at: second(180))
        #expect(later.map(\.message) == [lost("a").message + " (3 times since the last such line, the last 90 s ago)"])
        let cured = Notice.storageCured(after: .seconds(1))
        for moment in [Int64(200), 201] { _ = filter.handle(.storageFailed(.io, file: "f"), at: second(moment)) }
        #expect(filter.handle(cured, at: second(202)) == cured)
        #expect(filter.rest(at: second(203)).isEmpty)
    }

    /// Whatever comes in whatever order, a count is that of the lines like it since the last that was written.
    @Test func eachCountIsTrue() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var filter = RepeatFilter()
            var unwritten: [[String]: Int] = [:]
            var moment = Int64(0)
            func write(_ notice: Notice) {
                let key = notice.repeatKey ?? []
                if let claim = notice.fields[.repeated] {
                    #expect(claim == String(unwritten[key] ?? 0), "\(notice.message)")
                }
                unwritten[key] = 0
            }
            for _ in 0..<200 {
                moment += Int64.random(in: 0...20, using: &random)
                for notice in filter.due(at: second(moment)) { write(notice) }
                let states = ["reachable", "unreachable", "no-path", "verifying", "portal"]
                let state = states.randomElement(using: &random) ?? ""
                let notice = Notice.destinationChanged(
                    Bool.random(using: &random) ? "a" : "b", from: "x", to: state, reason: "y")
                unwritten[notice.repeatKey ?? [], default: 0] += 1
                if let now = filter.handle(notice, at: second(moment)) { write(now) }
            }
            for notice in filter.rest(at: second(moment)) { write(notice) }
        }
    }

    /// What is held back of a destination is not told once it is forgotten, renamed, or taken out.
    @Test func whatIsGoneIsNotTold() {
        let gone = Notice.destinationRemoved("old", events: 11)
        let ends: [Notice] = [.destinationForgotten("old", events: 11), .destinationRenamed("old", to: "new")]
        for end in ends {
            var filter = RepeatFilter()
            let other = Notice.destinationRemoved("other", events: 1)
            for notice in [gone, other] { #expect(filter.handle(notice, at: second(0)) == notice) }
            for notice in [gone, other] { #expect(filter.handle(notice, at: second(10)) == nil) }
            #expect(filter.handle(end, at: second(20)) == end)
            #expect(filter.due(at: second(60)) == [other.standing(for: 1, after: .seconds(50))])
            #expect(filter.rest(at: second(61)).isEmpty)
        }
        var filter = RepeatFilter()
        for moment in [Int64(0), 1] {
            _ = filter.handle(lost("old"), at: second(moment))
            _ = filter.handle(lost("main"), at: second(moment))
        }
        filter.overtake([.way, .acceptance], where: [.destination: "old"])
        #expect(filter.rest(at: second(1)) == [lost("main")])
    }

    /// A file's newest fault is the one that counts; a reload that finds no fault leaves none to be told.
    @Test func whatAReloadMendsIsNotTold() {
        func fault(_ detail: String) -> Notice { .fileUnreadable("/ca.pem", setting: "CACertificate", detail: detail) }
        let problem = Notice.configurationProblem(isError: false, at: "f:3:1", "unknown key")
        var filter = RepeatFilter()
        for moment in [Int64(0), 1] {
            for notice in [fault("ENOENT"), problem] { _ = filter.handle(notice, at: second(moment)) }
        }
        #expect(filter.handle(fault("EACCES"), at: second(2)) == fault("EACCES"))
        #expect(filter.handle(fault("EACCES"), at: second(3)) == nil)
        var mended = filter
        #expect(Set(filter.rest(at: second(4)).compactMap { $0.fields[.detail] }) == ["EACCES", "unknown key"])
        mended.overtake([.configuration], where: [:])
        mended.overtake([.file], where: [.file: "/ca.pem", .setting: "CACertificate"])
        #expect(mended.rest(at: second(4)).isEmpty)
    }

    @Test func theLastIsKeptAtTheEnd() {
        var filter = RepeatFilter()
        _ = filter.handle(lost("a", "1"), at: second(0))
        _ = filter.handle(lost("a", "2"), at: second(1))
        #expect(filter.rest(at: second(1)) == [lost("a", "2")])
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
        written += filter.rest(at: second(3_600))
        #expect((15...60).contains(written.count), "\(written.count)")
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

    @Test func whatIsOvertakenIsNotWritten() throws {
        let written = Lock([String]())
        let log = try LogThread { notice in written.with { $0.append(notice.message) } }
        let fault = Notice.fileUnreadable("/token", setting: "TokenFile", detail: "ENOENT")
        for notice in [fault, fault] { log.log(notice) }
        log.overtake([.file])
        #expect(log.flushAndStop(atMost: .seconds(30)))
        #expect(written.with { $0 } == [fault.message])
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

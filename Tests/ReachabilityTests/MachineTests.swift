import Bytes
import Reachability
import Testing
import Time

struct MachineTests {
    @Test func startsUnknownAndChecksAtOnce() {
        var rig = Rig(usable(), .answers)
        #expect(rig.machine.connectivity == .unknown)
        #expect(rig.machine.deadline == Instant(nanoseconds: 0))
        rig.run(to: 0)
        #expect(rig.state == .verifying)
        #expect(rig.machine.connectivity == .unknown)
        #expect(!rig.machine.maySend)
        rig.run(to: 100)
        #expect(rig.states() == [.verifying, .reachable])
        #expect(rig.checks() == [0])
        #expect(rig.machine.connectivity == .open)
        #expect(rig.machine.maySend)
        #expect(rig.machine.connectionType == .ethernet)
        #expect(rig.machine.deadline == nil, "nothing is looked at while reachable")
        #expect(rig.count(.reachable(Outage(duration: .milliseconds(20), cause: .start))) == 1)
    }

    @Test func withoutAPathNothingIsSent() {
        var rig = Rig(noRoute, .answers)
        rig.run(to: 200)
        #expect(rig.states() == [.noPath])
        #expect(rig.checks().isEmpty)
        #expect(rig.machine.connectivity == .closed)
        #expect(rig.machine.connectionType == .none)
        let looks = rig.evaluations.count
        rig.run(to: 300)
        #expect((3...4).contains(rig.evaluations.count - looks), "the kernel is asked at each beat")
    }

    @Test func aRouteThatComesIsCheckedWithinItsSettlingTime() {
        var rig = Rig(noRoute, .answers)
        rig.run(to: 50)
        rig.announce(usable())
        rig.run(to: 60)
        #expect(rig.checks() == [50.25])
        #expect(rig.states(since: 50) == [.verifying, .reachable])
    }

    /// No event tells of it, as when a router's refreshed advertisement revives a default.
    @Test func aRouteThatComesInSilenceIsFoundAtTheNextBeat() {
        var rig = Rig(noRoute, .answers)
        rig.run(to: 100)
        rig.verdict = usable()
        rig.run(to: 130.001)
        #expect(rig.state == .reachable)
    }

    @Test func earlyChecksThenTheBeat() {
        var rig = Rig(usable(), .refuses)
        rig.run(to: 200)
        #expect(rig.states() == [.verifying, .unreachable])
        #expect(rig.machine.reason == .refused)
        #expect(rig.machine.detail == "connection refused")
        let checks = rig.checks()
        for (index, nominal) in [0.0, 1, 2, 4, 8, 16].enumerated() {
            #expect(abs(checks[index] - nominal) <= nominal * 0.15 + 0.001, "check \(index) at \(checks[index])")
        }
        let gaps = zip(checks.dropFirst(6), checks.dropFirst(5)).map { $0 - $1 }
        #expect(gaps.count > 4)
        for (index, gap) in gaps.enumerated() { #expect(gap <= 30 && gap >= (index == 0 ? 4.5 : 25.5)) }
        rig.destination = .answers
        rig.run(to: 230.1)
        #expect(rig.state == .reachable)
    }

    @Test(arguments: [1, 2, 5, 30, 600])
    func noGapIsLongerThanTheInterval(seconds: Int) {
        for seed in UInt64(1)...20 {
            var rig = Rig(usable(), .refuses, interval: .seconds(seconds), seed: seed)
            rig.run(to: Double(seconds) * 8 + 40)
            let checks = rig.checks()
            for (later, earlier) in zip(checks.dropFirst(), checks) {
                #expect(later - earlier <= Double(seconds) + 0.000_001, "seed \(seed)")
            }
            #expect(checks.count >= 8)
        }
    }

    @Test func theSeedSpreadsTheChecks() {
        let times = (UInt64(1)...8).map { seed in
            var rig = Rig(usable(), .refuses, seed: seed)
            rig.run(to: 100)
            return rig.checks().last ?? 0
        }
        #expect(Set(times).count == 8)
    }

    @Test func aShortLossPausesAndIsNotAnnounced() {
        var rig = Rig(usable(), .answers)
        rig.run(to: 10)
        rig.announce(noRoute)
        rig.run(to: 10.25)
        #expect(rig.count(.pathLost(givingUpRequest: false)) == 1)
        #expect(!rig.machine.maySend)
        #expect(rig.state == .reachable)
        #expect(rig.machine.connectivity == .open)
        rig.announce(usable())
        rig.run(to: 20)
        #expect(rig.first(.pathBack) == 10.5)
        #expect(rig.machine.maySend)
        #expect(rig.states(since: 10).isEmpty)
        #expect(rig.checks(since: 1).isEmpty)
    }

    @Test func aLossThatLastsIsAnnouncedOnce() {
        var rig = Rig(usable(), .answers)
        rig.run(to: 10)
        rig.announce(noRoute)
        rig.run(to: 11.7)
        #expect(rig.state == .reachable)
        rig.run(to: 11.8)
        #expect(rig.state == .noPath)
        #expect(rig.machine.reason == .noRoute)
        #expect(rig.machine.connectionType == .none)
        #expect(rig.count(.pathLost(givingUpRequest: true)) == 1)
        #expect(rig.count(.dropConnections) == 1)
        rig.run(to: 30)
        rig.announce(usable())
        rig.run(to: 40)
        #expect(rig.states(since: 10) == [.noPath, .verifying, .reachable])
        guard case .reachable(let outage) = rig.log.last?.effect else { return #expect(Bool(false)) }
        #expect(outage.cause == .ownLink)
        #expect(outage.duration == .milliseconds(18_520))
    }

    @Test(arguments: [usable(3), usable(gateway: "10.0.0.9"), usable(source: "10.0.0.9")])
    func anotherPathGivesUpTheRequestAndIsProvedAnew(other: PathVerdict) {
        var rig = Rig(usable(), .answers)
        rig.run(to: 20)
        rig.announce(other)
        rig.run(to: 30)
        #expect(rig.states(since: 20) == [.verifying, .reachable])
        #expect(rig.checks(since: 20) == [20.25])
        #expect(rig.count(.pathLost(givingUpRequest: true)) == 1)
        let effects = rig.log.map(\.effect)
        let order = [.dropConnections, .pathLost(givingUpRequest: true), .check].compactMap(effects.lastIndex(of:))
        #expect(order.count == 3 && order == order.sorted(), "no new request on an old connection")
    }

    @Test func aFurtherAddressIsNoChange() {
        var rig = Rig(usable(), .answers)
        rig.run(to: 10)
        let further = Candidate(
            address: ip("2001:db8::1"), path: Path(interface: 2, gateway: ip("fe80::1"), source: ip("fd00::2")),
            interfaceName: "if2", connectionType: .ethernet)
        guard case .usable(let before) = usable() else { return }
        rig.announce(.usable([further] + before))
        rig.run(to: 20)
        #expect(rig.states(since: 1).isEmpty)
        rig.tell(.proved(by: ip("2001:db8::1")))
        rig.announce(.usable([further] + before))
        rig.run(to: 30)
        rig.announce(usable())
        rig.run(to: 40)
        #expect(rig.states(since: 1) == [.verifying, .reachable], "the address that is connected has lost its path")
    }

    @Test func aRequestWithoutAnAnswerIsFollowedByOneCheck() {
        var rig = Rig(usable(), .answers)
        rig.run(to: 20)
        rig.tell(.failed(.reset, "connection reset"))
        #expect(rig.state == .verifying)
        #expect(!rig.machine.maySend)
        #expect(rig.machine.connectivity == .closed)
        rig.run(to: 30)
        #expect(rig.states(since: 20) == [.verifying, .reachable])
        #expect(rig.checks(since: 20) == [20.25])
        rig.destination = .silent
        rig.run(to: 40)
        rig.tell(.failed(.timeout, "no answer"))
        rig.run(to: 51)
        #expect(rig.state == .unreachable)
        #expect(rig.machine.reason == .timeout)
        guard case .changed(let from, let to, let reason) = rig.log.last(where: { $0.effect != .markDirty })?.effect
        else { return #expect(Bool(false)) }
        #expect(from == .verifying && to == .unreachable && reason == .timeout)
    }

    /// A destination that answers checks but breaks each request must not be asked in a tight circle.
    @Test func theEarlyStepsBeginAnewAtMostEveryTenSeconds() {
        var rig = Rig(usable(), .answers)
        rig.run(to: 20)
        while rig.now < Instant(nanoseconds: 29_000_000_000) {
            if rig.state == .reachable { rig.tell(.failed(.reset, "connection reset")) }
            rig.run(to: rig.now.nanoseconds > 0 ? Double(rig.now.nanoseconds) / 1e9 + 0.1 : 0)
        }
        #expect(rig.checks(since: 20).count <= 6)
    }

    @Test func aPortalIsNoReachability() {
        var rig = Rig(usable(), .intercepted)
        rig.run(to: 100)
        #expect(rig.states() == [.verifying, .portal])
        #expect(rig.checks().count > 6)
        #expect(!rig.machine.maySend)
        rig.destination = .answers
        rig.run(to: 130)
        #expect(rig.state == .reachable)
        rig.tell(.portal("a page of another server"))
        #expect(rig.state == .portal)
        rig.run(to: 132)
        #expect(rig.state == .reachable)
    }

    @Test func aCheckIsNotRepeatedWhileOneIsInFlight() {
        var rig = Rig(usable(), .silent)
        rig.run(to: 9.9) { #expect($0.checksInFlight <= 1) }
        #expect(rig.checks() == [0])
        #expect(rig.machine.connectivity == .unknown)
        rig.run(to: 300) { #expect($0.checksInFlight <= 1) }
        #expect(rig.checks().count > 5)
    }

    @Test func aCheckThatIsGivenUpIsNotTheFirst() {
        var machine = ReachabilityMachine(
            settings: ReachabilitySettings(), seed: 1, now: Instant(nanoseconds: 0))
        _ = machine.handle(.path(usable()), at: Instant(nanoseconds: 0))
        #expect(machine.handle(.path(noRoute), at: .init(nanoseconds: 1)).contains(.pathLost(givingUpRequest: false)))
        _ = machine.handle(.checkEnded, at: Instant(nanoseconds: 1))
        #expect(machine.connectivity == .unknown, "nothing is known yet, and the loss may be a flap")
        _ = machine.handle(.path(usable()), at: Instant(nanoseconds: 1_000_000_000))
        #expect(machine.connectivity == .unknown)
        _ = machine.handle(.failed(.refused, "connection refused"), at: Instant(nanoseconds: 1_100_000_000))
        #expect(machine.connectivity == .closed)
    }

    @Test func aCheckOfAnEarlierPathIsFollowedByOneOfTheNew() {
        var rig = Rig(usable(), .silent)
        rig.run(to: 2)
        rig.announce(usable(3))
        rig.destination = .answers
        rig.run(to: 9)
        #expect(rig.checks() == [0], "nothing but its end ends a check")
        rig.run(to: 12)
        #expect(rig.states() == [.verifying, .reachable], "its failure says nothing of the new path")
        #expect(rig.checks() == [0, 10])
    }

    @Test func aCheckNeverReportedAsEndedDoesNotStopTheNext() {
        var machine = ReachabilityMachine(
            settings: ReachabilitySettings(checkInterval: .seconds(30), checkLimit: .seconds(90)), seed: 1,
            now: Instant(nanoseconds: 0))
        var checks: [Instant] = []
        var now = Instant(nanoseconds: 0)
        while let deadline = machine.deadline, deadline < Instant(nanoseconds: 300_000_000_000) {
            now = deadline
            var pending = machine.handle(.timer, at: now)
            while !pending.isEmpty {
                let effect = pending.removeFirst()
                if effect == .check { checks.append(now) }
                if case .evaluate = effect { pending += machine.handle(.path(usable()), at: now) }
            }
        }
        #expect(checks.count == 3)
        for (later, earlier) in zip(checks.dropFirst(), checks) { #expect(later - earlier <= .seconds(121)) }
    }

    @Test func afterSleepConnectionsAreDroppedAndThePathIsProvedAnew() {
        var rig = Rig(usable(), .answers)
        rig.run(to: 20)
        rig.now = rig.now + .seconds(3_600)
        rig.tell(.resumed)
        #expect(rig.count(.dropConnections) == 1)
        #expect(rig.state == .verifying)
        #expect(rig.checks(since: 20) == [3_620], "at once, without waiting for an announcement")
        rig.run(to: 3_621)
        #expect(rig.state == .reachable)
    }

    @Test func anOperatorsWishIsACheckNowAndLeavesTheBeat() {
        var rig = Rig(usable(), .refuses, seed: 3)
        rig.run(to: 190)
        var undisturbed = rig
        undisturbed.run(to: 300)
        rig.tell(.wanted)
        rig.run(to: 300)
        #expect(rig.checks(since: 190).first == 190)
        #expect(rig.checks(since: 191) == undisturbed.checks(since: 191))
        rig.destination = .answers
        rig.run(to: 400)
        let checks = rig.checks().count
        rig.tell(.wanted)
        rig.run(to: 410)
        #expect(rig.checks().count == checks, "nothing is checked while reachable")
    }

    @Test func anExpiringRouteIsLookedAtWhenItExpires() {
        var rig = Rig(usable(expires: .seconds(4)), .answers)
        rig.run(to: 2)
        #expect(rig.machine.deadline == Instant(nanoseconds: 5_100_000_000))
        rig.verdict = noRoute
        rig.run(to: 7)
        #expect(rig.state == .noPath)
    }

    /// Ten transitions of a link within a settling time leave one trace: its counter.
    @Test func aLinkThatFlappedLosesItsIdleConnectionsOnly() {
        var rig = Rig(usable(), .answers)
        rig.run(to: 10)
        rig.announce(usable(carrierChanges: 10))
        rig.run(to: 20)
        #expect(rig.count(.dropConnections) == 1)
        #expect(rig.states(since: 2).isEmpty)
        #expect(rig.machine.maySend)
    }

    @Test func aStormOfChangesThatLeaveThePathIsNoEdge() {
        var rig = Rig(usable(), .answers)
        rig.run(to: 10)
        let before = rig.evaluations.count
        for _ in 0..<2_600 {
            rig.announce(usable())
            rig.run(to: Double(rig.now.nanoseconds) / 1e9 + 0.001)
        }
        rig.run(to: 20)
        #expect(rig.states(since: 1).isEmpty)
        #expect((2...4).contains(rig.evaluations.count - before))
    }

    @Test func whatCameOfChecksIsCounted() {
        var rig = Rig(usable(), .refuses)
        rig.run(to: 10)
        #expect(rig.machine.statistics.checks == [.failed: UInt64(rig.checks().count)])
        rig.destination = .intercepted
        rig.run(to: 20)
        rig.destination = .silent
        rig.run(to: 55)
        rig.announce(noRoute)
        rig.run(to: 60)
        rig.announce(usable())
        rig.destination = .answers
        rig.run(to: 100)
        let counted = rig.machine.statistics.checks
        #expect((counted[.portal] ?? 0) > 0 && counted[.answered] == 1)
        #expect(counted.values.reduce(0, +) == rig.checks().count)
        #expect(rig.machine.span(in: .reachable, at: rig.now) < .seconds(40))
        #expect(rig.machine.span(in: .noPath, at: rig.now) > .seconds(3))
    }
}

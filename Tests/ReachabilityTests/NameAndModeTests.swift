import Bytes
import Reachability
import Testing
import Time

struct NameTests {
    @Test func aNameWithoutAddressesIsUnreachableByDNSAndAskedAgain() {
        var rig = Rig(usable(type: .cellular), .answers)
        rig.addressIsKnown = false
        rig.resolves = false
        rig.run(to: 0.5)
        #expect(rig.state == .verifying)
        #expect(rig.machine.connectionType == .cellular, "that of the default route")
        rig.run(to: 90)
        #expect(rig.states() == [.verifying, .unreachable])
        #expect(rig.machine.reason == .dns)
        #expect(rig.checks().isEmpty, "no address, no check")
        #expect(!rig.machine.maySend)
        rig.resolves = true
        rig.run(to: 122)
        #expect(rig.state == .reachable)
    }

    @Test func aRouteThatComesIsFollowedByALookupAndACheck() {
        var rig = Rig(noRoute, .answers)
        rig.addressIsKnown = false
        rig.resolves = false
        rig.run(to: 50)
        #expect(rig.states() == [.noPath])
        rig.resolves = true
        rig.announce(usable())
        rig.run(to: 52)
        #expect(rig.states() == [.noPath, .verifying, .reachable])
        #expect(rig.checks() == [51.25], "a second for the lookup, and no beat between")
    }

    @Test func aNameOfTheNeighbourhoodNeedsNoDefaultRoute() {
        var rig = Rig(usable(), .answers)
        rig.addressIsKnown = false
        rig.defaultRoute = noRoute
        rig.run(to: 3)
        #expect(rig.states() == [.noPath, .verifying, .reachable])
    }

    @Test func knownAddressesWithoutAPathAreNotLookedUp() {
        var rig = Rig(usable(), .answers)
        rig.run(to: 1)
        rig.announce(noRoute)
        rig.run(to: 5)
        let before = rig.lookupCount
        rig.run(to: 200)
        #expect(rig.state == .noPath)
        #expect(rig.lookupCount == before)
    }
}

struct WithoutChecksTests {
    @Test func neverChecksButTriesOnLinkEvents() {
        var rig = Rig(noRoute, .answers, checks: false)
        rig.run(to: 50)
        #expect(!rig.machine.maySend)
        #expect(rig.machine.connectivity == .closed)
        rig.announce(usable())
        rig.run(to: 60)
        #expect(rig.first(.attempt) == 50.25)
        #expect(rig.state == .verifying)
        #expect(rig.machine.maySend, "only a try can find out")
        #expect(rig.machine.connectivity == .open)
        rig.tell(.failed(.refused, "connection refused"))
        rig.run(to: 200)
        #expect(rig.state == .unreachable)
        #expect(rig.machine.maySend, "delivery's own back-off decides")
        rig.tell(.proved(by: nil))
        rig.run(to: 300)
        #expect(rig.state == .reachable)
        rig.announce(usable(3))
        rig.run(to: 310)
        #expect(rig.count(.attempt) == 2)
        #expect(rig.checks().isEmpty)
        rig.tell(.resumed)
        #expect(rig.count(.attempt) == 3)
        #expect(rig.checks().isEmpty)
        rig.verdict = .none(.noRoute, detail: "the network was left while asleep")
        rig.tell(.resumed)
        #expect(rig.count(.attempt) == 3, "nothing is sent before the kernel was asked")
    }

    @Test func aNameIsLookedUpAgainWhileItHasNoAddress() {
        var rig = Rig(usable(), .answers, checks: false)
        rig.addressIsKnown = false
        rig.resolves = false
        rig.run(to: 60)
        #expect(rig.machine.reason == .dns)
        #expect(!rig.machine.maySend)
        #expect(rig.machine.connectivity == .closed)
        rig.resolves = true
        rig.run(to: 95)
        #expect(rig.machine.maySend)
        #expect(rig.count(.attempt) == 1)
    }
}

struct WithoutNetlinkTests {
    @Test func aPathIsTakenForGranted() {
        var rig = Rig(.unobserved, .answers)
        rig.run(to: 10)
        #expect(rig.state == .reachable)
        #expect(rig.machine.connectionType == .unknown)
        rig.destination = .silent
        rig.tell(.failed(.timeout, "no answer"))
        rig.run(to: 30)
        #expect(rig.state == .unreachable)
    }
}

struct SettleTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test func isDueAfterQuietAndAtLatestAfterASecond() {
        var settle = Settle()
        #expect(settle.due == nil)
        settle.mark(at: at(0))
        #expect(settle.due == at(250))
        settle.mark(at: at(100))
        #expect(settle.due == at(350))
        let tooEarly = settle.take(at: at(349))
        #expect(!tooEarly)
        for time in stride(from: Int64(150), through: 950, by: 100) { settle.mark(at: at(time)) }
        #expect(settle.due == at(1_000))
        let taken = (settle.take(at: at(1_000)), settle.take(at: at(5_000)))
        #expect(taken == (true, false))
        #expect(settle.due == nil)
    }
}

struct SleepDetectorTests {
    @Test func tellsASecondOfSleepOnce() {
        var detector = SleepDetector(boot: Instant(nanoseconds: 5_000_000_000), monotonicNanoseconds: 4_000_000_000)
        func later(_ boot: Int64, _ monotonic: Int64) -> Bool {
            detector.slept(
                boot: Instant(nanoseconds: boot * 1_000_000), monotonicNanoseconds: monotonic * 1_000_000)
        }
        let slept = [later(6_000, 5_000), later(7_999, 6_000), later(9_999, 7_000), later(10_999, 8_000)]
        #expect(slept == [false, false, true, false])
    }
}

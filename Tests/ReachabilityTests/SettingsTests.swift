import Reachability
import Testing
import Time

/// Other settings while the machine runs.
struct SettingsTests {
    @Test func aReachableDestinationIsLeftAlone() {
        var rig = Rig(usable(), .answers)
        rig.run(to: 10)
        let count = rig.log.count
        rig.use(checks: true, interval: .seconds(5))
        rig.use(checks: false, interval: .seconds(5))
        rig.use(checks: true, interval: .seconds(7))
        rig.run(to: 100)
        #expect(rig.log.dropFirst(count).map(\.effect) == [.attempt], "delivery learns that it is on its own")
        #expect(rig.state == .reachable)
    }

    @Test func aShorterIntervalCountsAtOnce() {
        var rig = Rig(usable(), .refuses, interval: .seconds(600))
        rig.run(to: 100)
        let before = rig.checks().count
        rig.use(checks: true, interval: .seconds(10))
        rig.run(to: 110)
        #expect(rig.checks().count == before + 1)
        rig.run(to: 210)
        #expect((10...12).contains(rig.checks(since: 110).count))
    }

    @Test func aLongerIntervalCountsFromTheNextCheck() {
        var rig = Rig(usable(), .refuses, interval: .seconds(10))
        rig.run(to: 100)
        rig.use(checks: true, interval: .seconds(100))
        rig.run(to: 400)
        #expect((3...5).contains(rig.checks(since: 100).count))
    }

    @Test func turningChecksOffAsksForAnAttemptNow() {
        var rig = Rig(usable(), .refuses)
        rig.run(to: 100)
        let checks = rig.checks().count
        rig.use(checks: false)
        #expect(rig.count(.attempt) == 1)
        #expect(rig.machine.maySend)
        #expect(rig.machine.connectivity == .open)
        rig.run(to: 200)
        #expect(rig.checks().count == checks)
    }

    @Test func turningChecksOnAsksForACheckNow() {
        var rig = Rig(usable(), .refuses, checks: false)
        rig.run(to: 100)
        rig.use(checks: true)
        #expect(!rig.machine.maySend)
        #expect(rig.checks() == [100])
        rig.destination = .answers
        rig.run(to: 140)
        #expect(rig.state == .reachable)
    }

    @Test func withoutAPathNothingIsAskedFor() {
        var rig = Rig(noRoute, .answers)
        rig.run(to: 100)
        let count = rig.log.count
        rig.use(checks: false)
        rig.use(checks: true)
        #expect(rig.log.count == count)
    }
}

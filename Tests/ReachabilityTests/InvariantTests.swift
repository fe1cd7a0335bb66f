import Bytes
import Reachability
import Testing
import Time

/// Random worlds, and what must hold after each step.
///
/// Paths come, go and change, announced or not; the destination answers, refuses, is silent, or another answers in its
/// place; requests fail; the machine sleeps.
struct InvariantTests {
    private static let paths = [usable(), usable(3), usable(gateway: "10.0.0.9"), noRoute, noRoute]
    private static let destinations: [Rig.Destination] = [.answers, .refuses, .silent, .intercepted]

    private func holds(_ rig: borrowing Rig, seed: UInt64, interval: Duration) {
        let machine = rig.machine
        let isReachable = rig.state == .reachable
        #expect(rig.checksInFlight <= 1, "seed \(seed): one check at a time")
        #expect(!machine.maySend || isReachable, "seed \(seed): nothing is sent unless reachable")
        if let deadline = machine.deadline {
            #expect(deadline - rig.now <= interval, "seed \(seed): no gap is longer than the interval")
        } else {
            #expect(isReachable, "seed \(seed): the timer is on while not reachable")
        }
        if isReachable, machine.maySend { #expect(machine.deadline == nil, "seed \(seed): off while reachable") }
        #expect((machine.connectivity == .open) == isReachable, "seed \(seed)")
        let counted = machine.statistics.checks.values.reduce(0, +)
        #expect(counted + UInt64(rig.checksInFlight) == rig.count(.check), "seed \(seed): each check is counted")
        let spans = DestinationState.allCases.map { machine.span(in: $0, at: rig.now) }
        #expect(spans.reduce(.zero, +) == rig.now - Instant(nanoseconds: 0), "seed \(seed): all time is in some state")
        #expect((machine.connectionType == .none) == (rig.state == .noPath), "seed \(seed)")
    }

    /// Proof comes only by an answer; a check only where a path is, and none while reachable.
    private func judge(_ rig: borrowing Rig, from start: Int, seed: UInt64, _ state: inout DestinationState) {
        for entry in rig.log[start...] {
            switch entry.effect {
            case .changed(let from, let to, _):
                #expect(from == state, "seed \(seed): changes are told without a gap")
                state = to
            case .check:
                #expect(state != .reachable && state != .noPath && state != .unknown, "seed \(seed): check in \(state)")
            case .reachable: #expect(state == .reachable, "seed \(seed)")
            default: break
            }
        }
    }

    @Test(arguments: UInt64(1)...60)
    func inRandomWorlds(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let interval = Duration.seconds([2, 30, 30, 120].randomElement(using: &random) ?? 30)
        var rig = Rig(Self.paths[Int(seed) % 5], .answers, interval: interval, seed: seed)
        var state = DestinationState.unknown
        var judged = 0
        for _ in 0..<60 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3: rig.announce(Self.paths.randomElement(using: &random) ?? noRoute)
            case 4: rig.verdict = Self.paths.randomElement(using: &random) ?? noRoute
            case 5...6: rig.destination = Self.destinations.randomElement(using: &random) ?? .answers
            case 7 where rig.machine.maySend: rig.tell(.failed(.timeout, "no answer"))
            case 8:
                rig.now = rig.now + .seconds(Int.random(in: 1...3_600, using: &random))
                rig.tell(.resumed)
            default: rig.settle.mark(at: rig.now)
            }
            let now = Double(rig.now.nanoseconds) / 1e9
            let span = Double.random(in: 0...1, using: &random) < 0.5 ? 0.4 : interval.inSeconds * 1.5
            rig.run(to: now + Double.random(in: 0...span, using: &random)) { holds($0, seed: seed, interval: interval) }
            judge(rig, from: judged, seed: seed, &state)
            judged = rig.log.count
        }
        recovers(&rig, interval: interval, seed: seed)
    }

    /// With a path and a destination that answers it is reachable within the interval and a check's time-out.
    private func recovers(_ rig: inout Rig, interval: Duration, seed: UInt64) {
        rig.verdict = usable()
        rig.destination = .answers
        let now = Double(rig.now.nanoseconds) / 1e9
        if rig.state == .reachable { rig.settle.mark(at: rig.now) }
        rig.run(to: now + interval.inSeconds + 10 + 1)
        #expect(rig.state == .reachable, "seed \(seed): \(rig.state), \(rig.machine.reason)")
    }

    /// With checks turned off none is made, nothing leaves without a path, and while not reachable the kernel is asked.
    @Test(arguments: UInt64(1)...20)
    func withoutChecks(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var rig = Rig(Self.paths[Int(seed) % 5], .answers, checks: false, seed: seed)
        for _ in 0..<60 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0...2: rig.announce(Self.paths.randomElement(using: &random) ?? noRoute)
            case 3 where rig.machine.maySend: rig.tell(.failed(.timeout, "no answer"))
            case 4 where rig.machine.maySend: rig.tell(.proved(by: nil))
            default: rig.tell(.resumed)
            }
            let now = Double(rig.now.nanoseconds) / 1e9
            rig.run(to: now + Double.random(in: 0...40, using: &random)) {
                #expect($0.state != .noPath || !$0.machine.maySend, "seed \(seed)")
                #expect($0.machine.deadline != nil || $0.state == .reachable, "seed \(seed)")
            }
        }
        #expect(rig.count(.check) == 0, "seed \(seed)")
        rig.announce(noRoute)
        rig.run(to: Double(rig.now.nanoseconds) / 1e9 + 0.5)
        #expect(!rig.machine.maySend, "seed \(seed)")
    }

    @Test(arguments: UInt64(1)...20)
    func aPortalNeverOpensTheWay(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var rig = Rig(noRoute, .intercepted, seed: seed)
        for _ in 0..<40 {
            rig.announce(Self.paths.randomElement(using: &random) ?? noRoute)
            rig.destination = Bool.random(using: &random) ? .intercepted : .silent
            rig.run(to: Double(rig.now.nanoseconds) / 1e9 + Double.random(in: 0...20, using: &random)) {
                #expect(!$0.machine.maySend && $0.state != .reachable, "seed \(seed)")
            }
        }
    }
}

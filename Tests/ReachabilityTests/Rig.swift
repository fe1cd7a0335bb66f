import Bytes
import Reachability
import Time

/// A machine with kernel, resolver and destination as a test lays them out, in virtual time.
struct Rig {
    /// What the destination does with a check.
    enum Destination: Hashable {
        case answers
        case refuses
        /// No answer until the time-out of 10 s.
        case silent
        case intercepted
    }

    var machine: ReachabilityMachine
    var settle = Settle()
    var now = Instant(nanoseconds: 0)
    /// What the kernel would say.
    var verdict: PathVerdict
    /// What it would say of the default route; nil for the same.
    var defaultRoute: PathVerdict?
    var destination: Destination
    /// False: the name has no addresses, and lookups fail after a second.
    var resolves = true
    var addressIsKnown = true

    /// Everything asked for, with its time.
    var log: [(at: Instant, effect: ReachabilityEffect)] = []
    var evaluations: [Instant] = []
    private var ends: [(at: Instant, began: PathVerdict)] = []
    private(set) var lookups: [Instant] = []
    private(set) var lookupCount = 0

    init(
        _ verdict: PathVerdict, _ destination: Destination, checks: Bool = true, interval: Duration = .seconds(30),
        seed: UInt64 = 1
    ) {
        machine = ReachabilityMachine(
            settings: ReachabilitySettings(checks: checks, checkInterval: interval), seed: seed,
            now: Instant(nanoseconds: 0))
        self.verdict = verdict
        self.destination = destination
    }

    var checksInFlight: Int { ends.count }
    var state: DestinationState { machine.state }

    /// Seconds at which checks began, since `start`.
    func checks(since start: Double = 0) -> [Double] {
        log.filter { $0.effect == .check }.map { seconds($0.at) }.filter { $0 >= start }
    }

    /// States entered, since `start`.
    func states(since start: Double = 0) -> [DestinationState] {
        log.compactMap { entry in
            guard case .changed(let from, let to, _) = entry.effect, from != to, seconds(entry.at) >= start else {
                return nil
            }
            return to
        }
    }

    func first(_ effect: ReachabilityEffect) -> Double? { log.first { $0.effect == effect }.map { seconds($0.at) } }

    func count(_ effect: ReachabilityEffect) -> Int { log.count { $0.effect == effect } }

    private func seconds(_ at: Instant) -> Double { Double(at.nanoseconds) / 1e9 }

    /// Lets time pass up to so many seconds after the start.
    mutating func run(to end: Double, each: (borrowing Rig) -> Void = { _ in }) {
        let end = Instant(nanoseconds: Int64(end * 1e9))
        while let next = nextInstant, next <= end {
            now = max(now, next)
            step()
            each(self)
        }
        now = end
    }

    /// The path becomes another, and the kernel announces it.
    mutating func announce(_ new: PathVerdict) {
        verdict = new
        settle.mark(at: now)
    }

    mutating func tell(_ event: ReachabilityEvent) { carryOut(machine.handle(event, at: now)) }

    /// The configuration asks for another way of watching.
    mutating func use(checks: Bool, interval: Duration = .seconds(30)) {
        carryOut(machine.use(settings: ReachabilitySettings(checks: checks, checkInterval: interval), at: now))
    }

    private mutating func carryOut(_ effects: [ReachabilityEffect]) {
        for effect in effects {
            log.append((now, effect))
            carryOut(effect)
        }
    }

    private var nextInstant: Instant? {
        ([machine.deadline, settle.due] + ends.map(\.at) + lookups).compactMap { $0 }.min()
    }

    private mutating func step() {
        if settle.take(at: now) { evaluate(resolving: false) }
        if let index = ends.firstIndex(where: { $0.at <= now }) { endCheck(ends.remove(at: index).began) }
        if let index = lookups.firstIndex(where: { $0 <= now }) {
            lookups.remove(at: index)
            addressIsKnown = addressIsKnown || resolves
            if addressIsKnown { evaluate(resolving: false) } else { tell(.resolutionFailed("no such name")) }
        }
        if let deadline = machine.deadline, deadline <= now { tell(.timer) }
    }

    private mutating func carryOut(_ effect: ReachabilityEffect) {
        switch effect {
        case .check:
            let span: Duration = destination == .silent ? .seconds(10) : .milliseconds(20)
            ends.append((now + span, verdict))
        case .evaluate(let resolving): evaluate(resolving: resolving)
        case .markDirty: settle.mark(at: now)
        case .attempt, .changed, .pathLost, .pathBack, .dropConnections, .reachable: break
        }
    }

    private mutating func evaluate(resolving: Bool) {
        evaluations.append(now)
        if resolving {
            lookupCount += 1
            lookups.append(now + .seconds(1))
        }
        tell(addressIsKnown ? .path(verdict) : .defaultRoute(defaultRoute ?? verdict))
    }

    /// A check gets through where the path is still the one on which it began.
    private mutating func endCheck(_ began: PathVerdict) {
        if case .usable = verdict, began == verdict {
            switch destination {
            case .answers: tell(.proved(by: nil))
            case .refuses: tell(.failed(.refused, "connection refused"))
            case .silent: tell(.failed(.timeout, "no answer within 10 s"))
            case .intercepted: tell(.portal("a page of another server"))
            }
        } else {
            tell(.failed(.timeout, "no answer within 10 s"))
        }
        tell(.checkEnded)
    }
}

/// A path by a link, with one address.
func usable(
    _ interface: UInt32 = 2, gateway: String = "10.0.0.1", source: String = "10.0.0.2",
    type: ConnectionType = .ethernet, carrierChanges: UInt32 = 0, expires: Duration? = nil
) -> PathVerdict {
    .usable([
        Candidate(
            address: ip("192.0.2.1"), path: Path(interface: interface, gateway: ip(gateway), source: ip(source)),
            interfaceName: "if\(interface)", connectionType: type, carrierChanges: carrierChanges, expiresAfter: expires
        )
    ])
}

let noRoute = PathVerdict.none(.noRoute, detail: "no route")

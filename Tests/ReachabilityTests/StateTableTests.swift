import Reachability
import Testing
import Time

/// What each event does in each situation, and what must hold after it; the table is `StateTable`.
struct StateTableTests {
    @Test(arguments: Situation.allCases)
    func eachCellIsAsWritten(_ situation: Situation) throws {
        for event in EventKind.allCases {
            for checks in [true, false] {
                let table = checks ? StateTable.withChecks : StateTable.withoutChecks
                let name = "Check=\(checks ? "yes" : "no"), \(event.rawValue), \(situation.rawValue)"
                let expected = try #require(table[event]?[situation], "\(name): no row")
                let cell = Cell(situation.machine(checks: checks), event)
                #expect(cell.text == expected, "\(name)")
                cell.holds()
            }
        }
    }

    @Test func eachStateIsASituationAndNoRowIsLeftOver() {
        #expect(Set(Situation.allCases.map { $0.machine(checks: true).state }) == Set(DestinationState.allCases))
        for table in [StateTable.withChecks, StateTable.withoutChecks] {
            #expect(Set(table.keys) == Set(EventKind.allCases))
            for rows in table.values { #expect(Set(rows.keys) == Set(Situation.allCases)) }
        }
    }
}

/// Where a machine stands before an event: a state, and what is under way in it.
enum Situation: String, CaseIterable, Hashable {
    case unknown
    case noPath = "no-path"
    /// The first check is in flight.
    case verifying
    case unreachable
    case unreachableChecking = "unreachable, a check in flight"
    case portal
    case reachable
    case reachableLosing = "reachable, the path just lost"

    static let began = Instant(nanoseconds: 0)
    /// When the event comes.
    static let now = Instant(nanoseconds: 20_000_000_000)

    func machine(checks: Bool) -> ReachabilityMachine {
        var machine = ReachabilityMachine(
            settings: ReachabilitySettings(checks: checks), seed: 1, now: Self.began)
        for event in history { _ = machine.handle(event, at: Self.began) }
        return machine
    }

    private var history: [ReachabilityEvent] {
        let refused = ReachabilityEvent.failed(.refused, "refused")
        return switch self {
        case .unknown: []
        case .noPath: [.path(noRoute)]
        case .verifying: [.path(usable())]
        case .unreachable: [.path(usable()), refused, .checkEnded]
        case .unreachableChecking: [.path(usable()), refused, .checkEnded, .wanted, .path(usable())]
        case .portal: [.path(usable()), .portal("a page"), .checkEnded]
        case .reachable: [.path(usable()), .proved(by: nil), .checkEnded]
        case .reachableLosing: [.path(usable()), .proved(by: nil), .checkEnded, .path(noRoute)]
        }
    }
}

/// What can happen, with one example each.
enum EventKind: String, CaseIterable, Hashable {
    case pathAsBefore = "the kernel has a path, as before"
    case pathOther = "the kernel has another path"
    case pathNone = "the kernel has no path"
    case defaultRoute = "no address is known, and there is a default route"
    case defaultRouteNone = "no address is known, and there is no default route"
    case resolutionFailed = "the name has no address"
    case proved = "the destination answers"
    case portal = "something else answers"
    case failed = "no answer comes"
    case checkEnded = "the check is over"
    case resumed = "the machine slept"
    case wanted = "an operator wants to know"
    case timer = "the deadline has come"

    var example: ReachabilityEvent {
        switch self {
        case .pathAsBefore: .path(usable())
        case .pathOther: .path(usable(3))
        case .pathNone: .path(noRoute)
        case .defaultRoute: .defaultRoute(usable())
        case .defaultRouteNone: .defaultRoute(noRoute)
        case .resolutionFailed: .resolutionFailed("no such name")
        case .proved: .proved(by: nil)
        case .portal: .portal("a page")
        case .failed: .failed(.timeout, "no answer")
        case .checkEnded: .checkEnded
        case .resumed: .resumed
        case .wanted: .wanted
        case .timer: .timer
        }
    }

    /// Which of them an event is; one without a row does not compile.
    init(_ event: ReachabilityEvent) {
        self =
            switch event {
            case .path(.usable(let candidates)): candidates.first?.path.interface == 3 ? .pathOther : .pathAsBefore
            case .path(.none): .pathNone
            case .defaultRoute(.usable): .defaultRoute
            case .defaultRoute(.none): .defaultRouteNone
            case .resolutionFailed: .resolutionFailed
            case .proved: .proved
            case .portal: .portal
            case .failed: .failed
            case .checkEnded: .checkEnded
            case .resumed: .resumed
            case .wanted: .wanted
            case .timer: .timer
            }
    }
}

/// One event in one situation, carried out.
struct Cell {
    private let before: ReachabilityMachine
    private let after: ReachabilityMachine
    private let effects: [ReachabilityEffect]

    init(_ machine: ReachabilityMachine, _ event: EventKind) {
        #expect(EventKind(event.example) == event)
        before = machine
        var machine = machine
        effects = machine.handle(event.example, at: Situation.now)
        after = machine
    }

    /// The state after it and what is asked for: `verifying: drop, lost!, check`.
    var text: String {
        let words = effects.compactMap(\.word)
        return after.state.rawValue + (words.isEmpty ? "" : ": " + words.joined(separator: ", "))
    }

    /// What is true after every event.
    func holds() {
        let isTold = effects.contains { if case .changed = $0 { true } else { false } }
        #expect(isTold == (after.state != before.state || after.reason != before.reason), "each change is told")
        let isReached = effects.contains { if case .reachable = $0 { true } else { false } }
        #expect(isReached == (after.state == .reachable && before.state != .reachable))
        let isAtRest = after.state == .reachable && (after.maySend || !after.settings.checks)
        #expect(isAtRest || after.deadline != nil, "the timer is on while not reachable")
        if isAtRest, after.maySend { #expect(after.deadline == nil, "the timer is off while reachable") }
        let checksNow = effects.count { $0 == .check }
        #expect(checksNow <= 1 && (checksNow == 0 || after.isChecking), "one check at a time")
        #expect(checksNow == 0 || after.settings.checks, "with checks turned off none is made")
        if after.settings.checks { #expect(!after.maySend || after.state == .reachable, "nothing is sent unproved") }
    }
}

extension ReachabilityEffect {
    /// What the table calls it; a change of state is told by the state that stands before.
    fileprivate var word: String? {
        switch self {
        case .check: "check"
        case .attempt: "attempt"
        case .evaluate(resolving: false): "look"
        case .evaluate(resolving: true): "look, resolve"
        case .markDirty: "look soon"
        case .changed: nil
        case .pathLost(givingUpRequest: false): "pause"
        case .pathLost(givingUpRequest: true): "give up"
        case .pathBack: "go on"
        case .dropConnections: "drop"
        case .reachable: "send"
        }
    }
}

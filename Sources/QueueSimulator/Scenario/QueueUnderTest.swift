internal import Queue

/// A queue on a faulty disk, the model or the real one, as `QueueScenario` drives it and `Truth` looks at it.
///
/// Logs and destinations are numbers. A call in which the process ends has no result that counts; `hasCrashed` tells.
protocol QueueUnderTest: AnyObject {
    /// Where model and real queue differ by design.
    static var traits: QueueTraits { get }

    init(seed: UInt64, plan: FaultPlan)

    /// Starts on what the disk holds; returns why it cannot. `seed` is where this start's random bits come from.
    func start(seed: UInt64, destinations: [Int], crashingAfter steps: Int?) -> String?
    /// The process ends; the disk heals and keeps what `end` leaves.
    func end(_ end: ProcessEnd)
    /// Has the process end in the course of one of the next calls.
    func crash(afterSteps steps: Int)
    var hasCrashed: Bool { get }
    /// True where the process can stop in good order, and has.
    func close() -> Bool

    /// The first event's name in each log that took its posts.
    func commit(_ batches: [(log: Int, posts: [Post])], at now: Int) -> [Int: Accepted]
    /// What comes next for a destination; nothing where it has all, or the disk does not give it.
    func read(_ destination: Int, _ log: Int, events: Int, at now: Int) -> [ReadItem]
    /// All that waits for a destination, whatever has expired; nil where it cannot be read now.
    func readAll(_ destination: Int, _ log: Int) -> [ReadItem]?
    func settle(_ destination: Int, _ log: Int, _ fates: [(sequence: Int, fate: Fate)])
    /// True once the letter is durable.
    func bury(_ destination: Int, _ log: Int, _ item: SentItem) -> Bool
    /// True as a receipt.
    func purge(_ sequences: ClosedRange<Int>, of log: Int, epochs: [UInt64]) -> Bool
    /// How many were purged, as a receipt.
    func purge(_ log: Int) -> Bool
    /// Keeps the state of the last log's category, a raw value of `ConsentState`; true once it is durable.
    func keep(consent state: UInt8) -> Bool
    /// That state as the newest start found it, 0 where none was kept; nil where it is lost.
    var consent: UInt8? { get }
    /// Has the queue want for room, so that it gives up what it may, perhaps with the next commit; returns the logs
    /// that it takes from at once.
    func squeeze(_ log: Int) -> Set<Int>
    /// Ends the want.
    func relieve()
    func use(_ destinations: [Int])
    func synchroniseCursors() -> Bool
    /// Does background work.
    func housekeep(slices: Int, at now: Int)

    /// Events accepted since ever.
    func accepted(_ log: Int) -> Int
    /// The oldest event kept.
    func oldest(_ log: Int) -> Int
    func cursor(_ destination: Int, _ log: Int) -> CursorView?
    /// The dead letters of a destination, by sequence number.
    func letters(_ destination: Int, _ log: Int) -> Set<Int>
    /// Cursors that moved by themselves since the last call.
    func takeMoves() -> [Move]
    /// Ranges named as damaged since the last call.
    func takeNamed() -> [(log: Int, sequences: ClosedRange<Int>)]
    /// Posts that a start found, as repeats of them would be answered.
    func known() -> [(log: Int, sequence: Int, token: Int, epoch: UInt64)]

    /// Does a fault, now or at one of the next calls; false where it cannot.
    func inject(_ fault: InjectedFault) -> Bool
    /// What faults may have cost since the last call.
    func takeInjuries() -> [Injury]
    /// What stays on the disk though nothing waits; nil where that is as it should be.
    func leftovers() -> String?
}

/// Where model and real queue differ by design.
struct QueueTraits {
    /// The most events that are sent again after a crash; nil where another module bounds it.
    let mostResent: Int?
    /// What is quarantined is named in the report of the start or after the read.
    let namesDamage: Bool
    /// A start makes durable what it has read, though a sync of it failed before the last process ended.
    let trustsStarts: Bool
    /// It has a file for the states of consent.
    let keepsConsent: Bool
}

/// How many logs and destinations there are.
enum QueueShape {
    static let logs = 3
    static let destinations = 3
}

/// How a process ends.
enum ProcessEnd {
    /// It died; the page cache did not.
    case kill
    case powerCut
}

/// What became of an event at a destination.
typealias Fate = Disposition.Kind

/// An event as a client posts it.
struct Post {
    /// What it is told by, from 1.
    let token: Int
    /// When it expires, in seconds of the scenario's clock.
    let deadline: Int?
}

struct Accepted {
    let first: Int
    let epoch: UInt64
}

/// An event as it is read for a destination, or what stands in its place.
struct ReadItem {
    enum Content: Equatable {
        case event(token: Int, epoch: UInt64)
        case disposed(Fate)
    }

    let sequence: Int
    let content: Content
}

struct SentItem {
    let sequence: Int
    let token: Int
    let epoch: UInt64
}

/// Where a destination stands in a log.
struct CursorView: Equatable {
    var low = 1
    var origin = 0
    var ledger = Ledger()
    var queued = 0
}

extension CursorView: CustomStringConvertible {
    var description: String {
        let counts = [
            ("delivered", ledger.delivered), ("dead", ledger.dead), ("expired", ledger.expired),
            ("evicted", ledger.evicted), ("purged", ledger.purged), ("quarantined", ledger.quarantined),
        ]
        let settled = counts.filter { $0.1 > 0 }.map { " \($0.1) \($0.0)" }.joined()
        return "at \(low), \(origin) before it,\(settled) \(queued) queued"
    }
}

/// A cursor that moved by itself over `count` events, to `low`.
struct Move {
    let destination: Int
    let log: Int
    let fate: Fate
    let count: Int
    let low: Int
}

/// What a fault may cost: so many of these events, or of this range.
struct Injury {
    let log: Int
    var tokens: Set<Int> = []
    /// Purged events by their numbers: what is damaged of them cannot be told from an event.
    var holes: Set<Int> = []
    var range: ClosedRange<Int>?
    var most: Int
}

/// Which faults a life has.
struct FaultPlan {
    var faults: Set<InjectedFault> = []
    /// Crashes in the middle of calls, besides those between them.
    var crashesInCalls = true
    /// For the control run: syncs do nothing.
    var liesAboutSyncs = false
    /// A rule that the model breaks on purpose.
    var variant: Variant?
}

enum InjectedFault: Int, CaseIterable, Hashable {
    case failingSyncs, failingWrites, failingReads, fullDisk
    case flippedByte, unreadableSector, lostWrite, misdirectedWrite, damagedCursors

    /// True for what makes calls fail.
    var isError: Bool { !damages }

    /// True for what may cost events.
    var damages: Bool {
        switch self {
        case .flippedByte, .unreadableSector, .lostWrite, .misdirectedWrite, .damagedCursors: true
        case .failingSyncs, .failingWrites, .failingReads, .fullDisk: false
        }
    }
}

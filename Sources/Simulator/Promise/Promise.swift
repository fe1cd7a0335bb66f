internal import Bytes
internal import Daemon
internal import Delivery
internal import Gates
internal import Queue
internal import QueueSimulator
internal import Reachability
internal import Time

/// What DESIGN promises, held against all that a simulated daemon does; it knows the machines only from outside.
final class Promise {
    weak var simulation: Simulation?
    let settings: SimulationSettings
    /// The first thing that was not as promised.
    private(set) var broken: String?
    private(set) var trace: [String] = []
    private let isTracing: Bool

    /// Events that a process took, by number.
    var posts: [Int: Post] = [:]
    /// The ids of events known to be accepted: answered so, or found by a start.
    var ids: [Int: EventID] = [:]
    /// Those that clients were told of.
    var told: Set<Int> = []
    var numbers: [LogName: [UInt64: Int]] = [:]
    /// The newest sequence number of each log.
    var newest: [LogName: UInt64] = [:]
    var tracks: [String: Track]
    /// A request that has just ended.
    var answering: Answering?
    /// Requests that were taken, and are settled once the event before them is a dead letter.
    var waiting: [String: Answering] = [:]
    var orders = ConsentOrders()
    private(set) var consentCases: [ConsentCase: Int] = [:]
    /// The last time at which an order about consent was answered with an error.
    var purgeFailedAt = Instant(nanoseconds: 0)
    var lastEnd: (end: SimulatedDisk.End, at: Instant)?
    /// The last time at which calls of the disk failed or hung.
    var diskWrong = Instant(nanoseconds: 0)
    var openedAt = Instant(nanoseconds: 0)
    /// The last sleep of the machine, or the one that it is in.
    var sleptAt = Instant(nanoseconds: 0)
    var wokeAt = Instant(nanoseconds: 0)

    /// An event as a client posted it.
    struct Post {
        let log: LogName
        let bytes: [UInt8]
        let life: Int
        /// The connection type at acceptance.
        let type: String
        let views: [String: View]
    }

    /// How a destination stood when an event was accepted.
    enum View {
        /// It was announced as closed; the event must be marked with this reason.
        case closed(String)
        /// It was open, or not looked at yet; so many disturbances had been before.
        case open(disturbances: Int)
        /// It is not known from outside.
        case unclear
    }

    /// A request that ended in an answer, or in none.
    struct Answering {
        let destination: String
        let events: [Int]
        let isCheck: Bool
        let isDelivered: Bool
        /// What it carried may have been let go of for a purge, and is sent again.
        var mayBeForgotten = false
    }

    /// What is known of one destination.
    struct Track {
        /// What the kernel said last, in this life.
        var verdict: PathVerdict?
        /// The last verdict was on the default route: no address is known.
        var isDefaultOnly = false
        var lastType = "unknown"
        /// Failures, refusals and gates that closed or opened.
        var disturbances = 0
        var connectivity = Connectivity.unknown
        /// Some check has ended in this life.
        var hasLooked = false
        /// Where the settling stands, in this life.
        var low: [LogName: UInt64] = [:]
        /// Events up to here have waited through a failure in this life.
        var markedThrough: [LogName: UInt64] = [:]
        var batches: [String: SentBatch] = [:]
        /// The batches of this life, by their bytes.
        var bodies: [[UInt8]: String] = [:]
        var newestArrival: [LogName: Int] = [:]
        /// Events of requests that may have come to the collector though the daemon cannot know, and of cursors lost
        /// in a crash: each may come once more.
        var repeatable = 0
        /// It asked for time until then.
        var notBefore: Instant?
        /// Since when nothing was tried although a path is there.
        var idleSince = Instant(nanoseconds: 0)
        /// Events that are, or in a crash may have become, dead letters.
        var letters: Set<Int> = []
        /// Events that were refused alone.
        var refusedAlone: Set<Int> = []
        /// The event that was to be set apart last, where there was no room for its letter.
        var unburied: Int?
        /// Events that were sent alone while another stood refused; perhaps again, as another batch.
        var neighbours: Set<Int> = []
        var cursorHistory: [LogName: [(at: Instant, low: UInt64)]] = [:]
    }

    struct SentBatch {
        let life: Int
        let body: [UInt8]
        var attempts: Int
    }

    init(_ settings: SimulationSettings, tracing: Bool) {
        isTracing = tracing
        self.settings = settings
        tracks = Dictionary(uniqueKeysWithValues: settings.destinations.map { ($0.name, Track()) })
    }

    var acknowledgedCount: Int { told.count }

    func require(_ condition: Bool, _ text: @autoclosure () -> String) {
        guard !condition, broken == nil else { return }
        broken = text()
        note("BROKEN: \(text())")
    }

    func count(_ each: ConsentCase) { consentCases[each, default: 0] += 1 }

    func note(_ text: @autoclosure () -> String) {
        guard isTracing, let simulation else { return }
        trace.append("\((simulation.now - Instant(nanoseconds: 1_000_000_000_000)).inSeconds) \(text())")
        if trace.count > 2_000 { trace.removeFirst(1_000) }
    }

    /// How the destinations stand, for people.
    var situation: String {
        guard let process = simulation?.process else { return "no process" }
        let units = process.coordinator.units.map { unit in
            "\(unit.name) \(unit.reachability.state) \(unit.reachability.reason) \(unit.delivery.status) "
                + "drained \(unit.delivery.isDrained) deadlines \(String(describing: unit.reachability.deadline)) "
                + "\(String(describing: unit.delivery.deadline))"
        }
        return "\(units), \(process.flights.count) requests in flight, idle \(process.coordinator.isIdle)"
    }

    /// Numbers that a log may have lost: never told to a client.
    func mayBeLost(_ log: LogName, _ sequences: ClosedRange<UInt64>) -> Bool {
        sequences.allSatisfy { sequence in
            guard let event = numbers[log]?[sequence] else { return true }
            return !told.contains(event)
        }
    }

    /// As `mayBeLost`, or purged, or dead letters of a destination.
    func mayBeLeftOut(_ log: LogName, _ sequences: ClosedRange<UInt64>, _ destination: String) -> Bool {
        sequences.allSatisfy { sequence in
            mayBeLost(log, sequence...sequence) || mayBePurged(log, sequence)
                || numbers[log]?[sequence].map { tracks[destination]?.letters.contains($0) ?? false } ?? false
        }
    }

    /// An event is to become a dead letter, which only one may that was refused alone.
    func buries(_ sequence: UInt64, of log: LogName, for destination: String) {
        guard let event = numbers[log]?[sequence] else {
            return require(false, "\(destination): \(sequence) of \(log.text) is buried and was never accepted")
        }
        note("\(destination): \(event) is buried")
        require(
            tracks[destination]?.refusedAlone.contains(event) ?? false, "\(destination): \(event) was not refused alone"
        )
        tracks[destination]?.letters.insert(event)
    }

    func buried(_ sequence: UInt64, of log: LogName, for destination: String, _ outcome: BurialOutcome) {
        note("\(destination): \(sequence) of \(log.text): \(outcome)")
        let isFull = if case .full = outcome { true } else { false }
        tracks[destination]?.unburied = isFull ? numbers[log]?[sequence] : nil
    }

    func hasKept(_ destination: String, _ event: Int) -> Bool {
        simulation?.collectors[destination]?.kept[event] != nil
    }
}

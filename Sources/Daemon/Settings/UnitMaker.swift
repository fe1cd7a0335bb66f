internal import Configuration
internal import Delivery
internal import Posix
internal import Queue
internal import Reachability
internal import Time
internal import Version

/// Makes the coordinator's units from the settings and from where the cursors stand.
struct UnitMaker {
    /// Memory for the bodies of all destinations.
    private static let bodyBytes = 8 * 1_048_576
    /// So many bits of a request's number count the requests of one unit, the others the units.
    private static let requestBits = 40

    let units: [DestinationUnit]
    /// How many units were ever made.
    let made: UInt64

    /// Units for all destinations; those of `kept` whose settings are the same are taken over as they are.
    init(
        _ loaded: LoadedSettings, _ snapshot: QueueSnapshot, keeping kept: [DestinationUnit] = [],
        madeBefore: UInt64, at now: Instant
    ) {
        var made = madeBefore
        let reachability = ReachabilitySettings(
            checks: loaded.configuration?.reachability.check ?? true,
            checkInterval: loaded.configuration?.reachability.checkInterval ?? .seconds(30))
        units = loaded.destinations.map { files in
            if let same = kept.first(where: { $0.delivery.settings == files.settings }) { return same }
            made += 1
            let delivery = Destination(
                settings: files.settings, positions: Self.positions(of: files.settings.name, in: snapshot),
                userAgent: Version.userAgent, bodyAllowanceBytes: Self.bodyBytes / max(1, loaded.destinations.count),
                seed: SystemRandom.bits(), lastID: made << Self.requestBits)
            return DestinationUnit(
                reachability: ReachabilityMachine(settings: reachability, seed: SystemRandom.bits(), now: now),
                delivery: delivery)
        }
        self.made = made
    }

    private static func positions(of name: String, in snapshot: QueueSnapshot) -> [LogPosition] {
        snapshot.logs.map { log in
            let cursor = snapshot.cursors.first { $0.destination == name && $0.log == log.name }
            return LogPosition(log: log.name, low: cursor?.low ?? log.oldest, newest: log.accepted)
        }
    }
}

internal import Configuration
internal import Delivery
internal import Posix
internal import Queue
internal import Reachability
internal import Time
internal import Version

/// Makes the coordinator's units from the settings and from where the cursors stand.
struct UnitMaker {
    let units: [DestinationUnit]
    /// How many units were ever made.
    let made: UInt64

    /// Units for all destinations; those of `kept` whose settings are the same are taken over as they are.
    init(
        _ loaded: LoadedSettings, _ snapshot: QueueSnapshot, keeping kept: [DestinationUnit] = [],
        madeBefore: UInt64, at now: Instant
    ) {
        var made = madeBefore
        let reachability = ReachabilitySettings(loaded)
        units = loaded.destinations.map { files in
            if let same = kept.first(where: { $0.delivery.settings == files.settings }) { return same }
            made += 1
            return DestinationUnit(
                files.settings, reachability, from: snapshot, among: loaded.destinations.count, number: made,
                userAgent: Version.userAgent, randomBits: SystemRandom.bits, at: now)
        }
        self.made = made
    }
}

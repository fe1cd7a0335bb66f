package import Bytes
package import Delivery
internal import Gates
package import Queue
package import Reachability
package import Time

/// One destination: the way to it and the delivery to it, side by side.
package struct DestinationUnit: Sendable {
    /// Memory for the bodies of all destinations.
    private static let bodyBytes = 8 * 1_048_576
    /// So many bits of a request's number count the requests of one unit, the others the units.
    private static let requestBits: UInt64 = 40

    /// The way to it.
    package internal(set) var reachability: ReachabilityMachine
    /// The delivery to it.
    package internal(set) var delivery: Destination
    /// The addresses known of its host, or of its proxy's; a literal's own from the start.
    package internal(set) var addresses: [IPAddress]

    /// Why it was last looked for a way to it.
    var cause = "start"
    /// The closed gates that were told of last.
    var toldGates = "open"

    package init(reachability: ReachabilityMachine, delivery: Destination) {
        self.reachability = reachability
        self.delivery = delivery
        addresses = delivery.settings.connectHost.flatMap { IPAddress(text: $0) }.map { [$0] } ?? []
    }

    /// A destination that goes on from where its cursors stand in a snapshot of the queue.
    ///
    /// It shares memory with the others of `count`; `number` is 1 for the first unit that was ever made in this
    /// process, and keeps the numbers of its requests apart. `randomBits` gives the seeds.
    package init(
        _ settings: DestinationSettings, _ reachability: ReachabilitySettings, from snapshot: QueueSnapshot,
        among count: Int, number: UInt64, userAgent: String, randomBits: () -> UInt64, at now: Instant
    ) {
        let positions = snapshot.logs.map { log in
            let cursor = snapshot.cursors.first { $0.destination == settings.name && $0.log == log.name }
            return LogPosition(log: log.name, low: cursor?.low ?? log.oldest, newest: log.accepted)
        }
        self.init(
            reachability: ReachabilityMachine(settings: reachability, seed: randomBits(), now: now),
            delivery: Destination(
                settings: settings, positions: positions, userAgent: userAgent,
                bodyAllowanceBytes: Self.bodyBytes / max(1, count), seed: randomBits(),
                lastID: number << Self.requestBits))
    }

    /// Begins in the place of the unit that its destination had before a reload; nil where that is new.
    mutating func takeOver(from former: DestinationUnit?) {
        cause = "reload"
        guard let former else { return }
        toldGates = former.toldGates
        delivery.takeOver(from: former.delivery)
        if addresses.isEmpty, lookupHost == former.lookupHost { addresses = former.addresses }
    }

    /// Its name.
    package var name: String { delivery.settings.name }

    /// The closed gates, for those who watch: `open`, `connectivity, paused`, `policy (bulk)`.
    var closedGates: String {
        var names = delivery.gates.closed.map(\.name)
        let lanes = delivery.lanesKeptBack
        if !lanes.isEmpty, !delivery.gates.isClosed(.policy) {
            names.append("policy (\(lanes.map(\.text).joined(separator: ", ")))")
        }
        let categories = delivery.keptBack
        if !categories.isEmpty { names.append("consent (\(categories.map(\.text).joined(separator: ", ")))") }
        return names.isEmpty ? "open" : names.joined(separator: ", ")
    }

    /// The name to look up; nil for a Unix socket and for a literal address.
    var lookupHost: String? {
        delivery.settings.connectHost.flatMap { IPAddress(text: $0) == nil ? $0 : nil }
    }

    /// Where to connect: the addresses that a path leads to, in their order.
    var reachableAddresses: [IPAddress] {
        guard let first = reachability.candidate?.address else { return addresses }
        return [first] + addresses.filter { $0 != first }
    }

    /// When one of its machines wants its timer handled.
    var deadline: Instant? { [reachability.deadline, delivery.deadline].compactMap { $0 }.min() }
}

package import Bytes
package import Queue

/// What an event's key says of it.
enum Familiarity: Hashable {
    /// Nothing of that name was taken lately.
    case new
    /// It was made durable.
    case isDurable
    /// It waits for its commit, or was taken a moment ago by the same request.
    case waits
    /// Something else was taken by that name.
    case differs
}

/// The names of the events taken last, so that a repeat is known; pure.
///
/// Each is a keyed hash of 128 bits (see `EventNames`), so that it knows a new event for an old one once in 2^112. The
/// low half stands for the name alone.
package struct RecentEvents: Sendable {
    /// How many events it knows that were made durable.
    static let limit = 65_536

    /// Makes the keys.
    let names: EventNames
    /// The high half of the key of each event that is durable, by the low half.
    private var durable: [UInt64: UInt64] = [:]
    /// The low halves of those, in the order they were taken in; `oldest` is the next to be forgotten once it is full.
    private var order: [UInt64] = []
    private var oldest = 0
    /// The same for events that wait for their commit, and where.
    private var waiting: [UInt64: UInt64] = [:]
    private var positions: [(low: UInt64, position: Position)] = []

    /// With a queue's secret, and the keys of its newest events, the oldest first.
    package init(seed: KeyedHash.Seed, keys: [DuplicateKey] = []) {
        names = EventNames(seed: seed)
        for key in keys { remember(key.low, key.high) }
    }

    /// What is known of an event.
    func familiarity(_ key: DuplicateKey) -> Familiarity {
        guard key != .none else { return .new }
        if let high = durable[key.low] { return high == key.high ? .isDurable : .differs }
        if let high = waiting[key.low] { return high == key.high ? .waits : .differs }
        return .new
    }

    /// Notes a new event that was taken.
    mutating func take(_ key: DuplicateKey, at position: Position) {
        waiting[key.low] = key.high
        positions.append((key.low, position))
    }

    /// Learns what became of events: those that were refused are new when they come again.
    mutating func settle(_ settlement: Settlement) {
        guard !positions.isEmpty else { return }
        var left: [(low: UInt64, position: Position)] = []
        for (low, position) in positions {
            guard let outcome = settlement.outcome(of: position) else {
                left.append((low, position))
                continue
            }
            let high = waiting.removeValue(forKey: low)
            if case .durable = outcome, let high { remember(low, high) }
        }
        positions = left
    }

    /// Forgets the events that are durable: where some of them are purged, they are new when they come again.
    mutating func forget() {
        durable.removeAll()
        order.removeAll()
        oldest = 0
    }

    private mutating func remember(_ low: UInt64, _ high: UInt64) {
        guard durable.updateValue(high, forKey: low) == nil else { return }
        guard order.count == Self.limit else { return order.append(low) }
        durable[order[oldest]] = nil
        order[oldest] = low
        oldest = (oldest + 1) % Self.limit
    }
}

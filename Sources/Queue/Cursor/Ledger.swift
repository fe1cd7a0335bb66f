/// What became of the events of one log for one destination, up to a cursor; counts of events.
package struct Ledger: Hashable, Sendable {
    package var delivered: UInt64 = 0
    package var dead: UInt64 = 0
    package var expired: UInt64 = 0
    package var evicted: UInt64 = 0
    package var purged: UInt64 = 0
    package var quarantined: UInt64 = 0

    package init() {}

    /// All that is settled.
    package var total: UInt64 { delivered + dead + expired + evicted + purged + quarantined }

    /// Counts events of one kind.
    package mutating func count(_ events: UInt64, as kind: Disposition.Kind) {
        switch kind {
        case .delivered: delivered += events
        case .dead: dead += events
        case .expired: expired += events
        case .evicted: evicted += events
        case .purged: purged += events
        case .quarantined: quarantined += events
        }
    }

    /// Adds the counts of another.
    package static func += (left: inout Ledger, right: Ledger) {
        left.delivered += right.delivered
        left.dead += right.dead
        left.expired += right.expired
        left.evicted += right.evicted
        left.purged += right.purged
        left.quarantined += right.quarantined
    }
}

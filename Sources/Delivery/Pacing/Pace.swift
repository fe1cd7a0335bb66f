internal import Time

/// When the next batch may leave, so that no more does than `MaxEventsPerSecond` allows.
///
/// A batch claims the time of its events from the moment it leaves, one that is refused of a tenth of them, one at
/// least; none leaves in the time of another. So in any span of t seconds, at a rate of r, at most r × (t + 1) events
/// are taken, r × t + 1 requests leave, and these carry ten times as many events as are allowed, with refused ones.
struct Pace: Sendable {
    /// One claim to so many refused events.
    private static let refusedToClaim = 10

    /// In events a second; nil: no limit.
    private let rate: Int?
    /// Nothing leaves before.
    private(set) var next: Instant
    /// The request that left last, the events it carries, and when that was.
    private var last: (request: UInt64, events: Int, at: Instant)?

    init(rate: Int?, from next: Instant = Instant(nanoseconds: 0)) {
        self.rate = rate
        self.next = next
    }

    /// The most events of a batch, those of one second.
    var mostEvents: Int { rate ?? .max }

    /// A request leaves with so many events.
    mutating func left(_ request: UInt64, events: Int, at now: Instant) {
        guard let rate else { return }
        last = (request, events, now)
        next = now + Self.time(of: events, at: rate)
    }

    /// A request is refused; where another left since, its time is over and cannot be given back.
    mutating func refused(_ request: UInt64) {
        guard let rate, let last, last.request == request else { return }
        let claim = (last.events + Self.refusedToClaim - 1) / Self.refusedToClaim
        next = last.at + Self.time(of: claim, at: rate)
    }

    private static func time(of events: Int, at rate: Int) -> Duration {
        .nanoseconds((Int64(events) * 1_000_000_000 + Int64(rate) - 1) / Int64(rate))
    }
}

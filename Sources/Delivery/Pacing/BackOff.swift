internal import Bytes
internal import Time

/// How long to wait after a failure: full jitter between a minimum and a bound that doubles up to a maximum.
struct BackOff: Sendable {
    let minimum: Duration
    let maximum: Duration
    private var failures = 0

    init(minimum: Duration, maximum: Duration) {
        self.minimum = minimum
        self.maximum = maximum
    }

    /// Begins anew: the next wait is the minimum.
    mutating func reset() { failures = 0 }

    /// The wait after one more failure.
    mutating func next(_ random: inout SplitMix64) -> Duration {
        let doublings = min(failures, 30)
        failures += 1
        let bound = min(maximum, minimum * (1 << doublings))
        return random.duration(in: minimum...max(minimum, bound))
    }
}

/// How long a held destination waits: 1, 2, 4, 8 and 15 minutes, then every 15, each 15 % more or less.
struct HoldLadder: Sendable {
    private static let minutes = [1, 2, 4, 8, 15]
    private var holds = 0

    /// Begins anew.
    mutating func reset() { holds = 0 }

    /// The wait after one more hold.
    mutating func next(_ random: inout SplitMix64) -> Duration {
        let span = Duration.seconds(60 * Self.minutes[min(holds, Self.minutes.count - 1)])
        holds += 1
        return random.duration(in: span * 85 / 100...span * 115 / 100)
    }
}

extension SplitMix64 {
    /// A duration in a range, each nanosecond as likely.
    mutating func duration(in range: ClosedRange<Duration>) -> Duration {
        let bounds = range.lowerBound.nanoseconds...range.upperBound.nanoseconds
        return .nanoseconds(Int64.random(in: bounds, using: &self))
    }
}

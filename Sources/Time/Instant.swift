/// A point of the boot clock (CLOCK_BOOTTIME, which counts time asleep), in nanoseconds since boot.
package struct Instant: Comparable, Hashable, Sendable {
    /// Nanoseconds since boot.
    package let nanoseconds: Int64

    /// The instant so many nanoseconds after boot.
    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Later than every instant that occurs.
    package static let distantFuture = Instant(nanoseconds: .max)

    /// Which of two instants is the earlier.
    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The instant `span` after another; stays at the ends of the range.
    package static func + (instant: Instant, span: Duration) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(span.nanoseconds)
        return Instant(nanoseconds: overflow ? (span.nanoseconds < 0 ? .min : .max) : sum)
    }

    /// The time from `earlier` to `later`.
    package static func - (later: Instant, earlier: Instant) -> Duration {
        .nanoseconds(later.nanoseconds &- earlier.nanoseconds)
    }
}

extension Duration {
    /// The whole of it in nanoseconds, held at the ends of the range (292 years).
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || carry ? (seconds < 0 ? .min : .max) : sum
    }

    /// The whole of it in milliseconds, rounded down.
    package var milliseconds: Int64 { nanoseconds / 1_000_000 }

    /// The whole of it in seconds, with a fraction.
    package var inSeconds: Double { Double(nanoseconds) / 1e9 }
}

package import Time

/// Notices that the machine slept: the boot clock counts time asleep, the monotonic clock does not.
package struct SleepDetector: Sendable {
    private var offset: Int64

    /// Starts from the clocks as they stand.
    package init(boot: Instant, monotonicNanoseconds: Int64) { offset = boot.nanoseconds - monotonicNanoseconds }

    /// True where the machine has slept for a second or more since the last call.
    package mutating func slept(boot: Instant, monotonicNanoseconds: Int64) -> Bool {
        let growth = boot.nanoseconds - monotonicNanoseconds - offset
        offset += growth
        return growth >= 1_000_000_000
    }
}

internal import CLinux
package import Time

/// The machine's clocks.
package enum Clock {
    /// Now, on the boot clock.
    package static var now: Instant { Instant(nanoseconds: cl_clock(CL_CLOCK_BOOTTIME)) }

    /// Nanoseconds of CLOCK_MONOTONIC, which stands still while the machine sleeps.
    package static var monotonicNanoseconds: Int64 { cl_clock(CL_CLOCK_MONOTONIC) }

    /// Now, on the wall clock.
    package static var wall: WallTime { WallTime(milliseconds: cl_clock(CL_CLOCK_REALTIME) / 1_000_000) }

    /// True while the kernel holds the wall clock for synchronised (adjtimex(2)).
    package static var isSynchronised: Bool { cl_clock_synchronised() != 0 }

    /// Blocks this thread.
    package static func sleep(_ span: Duration) { cl_sleep_nanoseconds(max(0, span.nanoseconds)) }
}

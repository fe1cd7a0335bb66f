internal import Posix
internal import Queue
internal import Time

/// The queue's age clock: the boot clock summed over the daemon's runs, in milliseconds.
struct AgeClock {
    private static let boot =
        (try? FileSystem.contents(of: "/proc/sys/kernel/random/boot_id", limit: 64).filter { $0 != UInt8(ascii: "\n") })
        ?? []
    private let origin: UInt64
    private let began: Instant

    /// Goes on from what recovery found.
    init(restoring recovery: RecoveryReport) {
        began = Clock.now
        origin = recovery.age(at: Self.reading)
    }

    func milliseconds(at now: Instant) -> UInt64 { origin + UInt64(max(0, (now - began).milliseconds)) }

    /// The wall clock; nil while it is not synchronised.
    static var wall: WallTime? { Clock.isSynchronised ? Clock.wall : nil }

    /// The clocks of now.
    static var reading: ClockReading {
        ClockReading(boot: boot, sinceBoot: UInt64(max(0, Clock.now.nanoseconds / 1_000_000)), wall: wall)
    }

    /// All that the next start needs to know of the clocks.
    var record: ClockRecord { ClockRecord(age: milliseconds(at: Clock.now), Self.reading) }
}

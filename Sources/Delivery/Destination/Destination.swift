package import Gates
package import Queue
package import Time

/// Where delivery of a log stands when the daemon starts.
package struct LogPosition: Sendable {
    package let log: LogName
    /// The first sequence number that is not settled.
    package let low: UInt64
    /// The newest durable sequence number; low - 1 where nothing waits.
    package let newest: UInt64

    package init(log: LogName, low: UInt64, newest: UInt64) {
        self.log = log
        self.low = low
        self.newest = newest
    }
}

/// Delivery to one destination: decides what is read, sent, settled and when; knows no clock and no descriptor.
package struct Destination: Sendable {
    package let settings: DestinationSettings
    package private(set) var gates = Gates()
    package private(set) var status = DestinationStatus()

    /// Delivery from the given positions; logs not named begin at sequence number 1.
    ///
    /// `bodyAllowanceBytes` is its share of the memory for bodies: the daemon divides 8 MiB among the destinations.
    /// `seed` must be random at each start: batch ids come from it. `userAgent` is `uplinkd/VERSION`.
    package init(
        settings: DestinationSettings, positions: [LogPosition], userAgent: String,
        bodyAllowanceBytes: Int = 8 * 1_048_576, seed: UInt64
    ) {
        self.settings = settings
    }

    /// When `timer` must be handled next; nil: not by itself.
    package var deadline: Instant? { nil }

    /// True where nothing is in flight.
    package var isIdle: Bool { true }

    /// Takes an event and says what is to be done.
    package mutating func handle(_ event: DeliveryEvent, at now: Instant) -> [DeliveryEffect] { [] }
}

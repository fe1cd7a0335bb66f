package import Gates
package import Time

/// A run of events read for delivery, from one segment, in order.
package struct Chunk: Sendable {
    /// One event.
    package struct Record: Sendable {
        package let sequence: UInt64
        /// Where it stands in `bytes`.
        package let range: Range<Int>
        /// Nil where the clock was not synchronised.
        package let acceptedAt: WallTime?
        /// Its place in `contexts`.
        package let context: Int

        package init(sequence: UInt64, range: Range<Int>, acceptedAt: WallTime?, context: Int) {
            self.sequence = sequence
            self.range = range
            self.acceptedAt = acceptedAt
            self.context = context
        }
    }

    package let log: LogName
    /// The epoch of its segment, for the events' ids.
    package let epoch: UInt64
    /// All sequence numbers that it accounts for: those of `records`, of `quarantined` and of `purged`.
    package let sequences: ClosedRange<UInt64>
    package let bytes: [UInt8]
    package let records: [Record]
    package let contexts: [AcceptContext]
    /// Sequence numbers whose bytes cannot be read, in order.
    package let quarantined: [ClosedRange<UInt64>]
    /// Sequence numbers that were purged, in order.
    package let purged: [ClosedRange<UInt64>]

    package init(
        log: LogName, epoch: UInt64, sequences: ClosedRange<UInt64>, bytes: [UInt8], records: [Record],
        contexts: [AcceptContext], quarantined: [ClosedRange<UInt64>] = [], purged: [ClosedRange<UInt64>] = []
    ) {
        self.log = log
        self.epoch = epoch
        self.sequences = sequences
        self.bytes = bytes
        self.records = records
        self.contexts = contexts
        self.quarantined = quarantined
        self.purged = purged
    }
}

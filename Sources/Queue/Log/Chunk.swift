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
    /// All sequence numbers that it accounts for: each is in `records` or in `disposed`.
    package let sequences: ClosedRange<UInt64>
    package let bytes: [UInt8]
    package let records: [Record]
    package let contexts: [AcceptContext]
    /// What is not to be sent, in order.
    package let disposed: [Disposition]
    /// When its first record expires, by the age clock in milliseconds; `UInt64.max`: never.
    let firstExpires: UInt64

    package init(
        log: LogName, epoch: UInt64, sequences: ClosedRange<UInt64>, bytes: [UInt8], records: [Record],
        contexts: [AcceptContext], disposed: [Disposition] = [], firstExpires: UInt64 = .max
    ) {
        self.log = log
        self.epoch = epoch
        self.sequences = sequences
        self.bytes = bytes
        self.records = records
        self.contexts = contexts
        self.disposed = disposed
        self.firstExpires = firstExpires
    }

    /// What becomes of a part of `sequences` once its records are delivered.
    package func dispositions(of part: ClosedRange<UInt64>) -> [Disposition] {
        var all: [Disposition] = []
        var next = part.lowerBound
        for run in disposed where run.sequences.overlaps(part) {
            let sequences = run.sequences.clamped(to: part)
            if next < sequences.lowerBound { all.extend(.delivered, next...sequences.lowerBound - 1) }
            all.extend(run.kind, sequences)
            next = sequences.upperBound + 1
        }
        if next <= part.upperBound { all.extend(.delivered, next...part.upperBound) }
        return all
    }
}

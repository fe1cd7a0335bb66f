package import Time

/// What a look at every byte of a queue has found.
package struct Verification: Sendable {
    /// A stretch of a file that is not as it was written.
    package struct Damage: Sendable, Equatable {
        package let kind: RecoveryReport.Damage.Kind
        /// From the queue's directory; a log's folder where no file holds the events.
        package let path: String
        /// Bytes from the start of the file.
        package let offset: Int
        /// Bytes.
        package let length: Int
        /// The events in it, where any were lost.
        package let sequences: ClosedRange<UInt64>?

        /// False for what a killed daemon, or one at work, leaves behind the last event it answered.
        package var counts: Bool { kind != .tornTail }
    }

    /// One log.
    package struct Log: Sendable {
        package let name: LogName
        package internal(set) var segments = 0
        package internal(set) var batches = 0
        /// Events that can be read.
        package internal(set) var events: UInt64 = 0
        /// Events that were purged where they stood.
        package internal(set) var holes: UInt64 = 0
        /// From the oldest event kept to the newest; nil where there is none.
        package internal(set) var sequences: ClosedRange<UInt64>?
        /// Numbers between those that no event can be read for.
        package internal(set) var gaps: [ClosedRange<UInt64>] = []
        package internal(set) var damages: [Damage] = []
        /// Events that no file holds.
        var missing = RangeSet<UInt64>()
        /// Bytes of its segments.
        package internal(set) var bytes = 0

        /// Events that should be there and cannot be read.
        package var unreadable: UInt64 { gaps.reduce(0) { $0 + UInt64($1.count) } }
    }

    /// One destination in one log.
    package struct Cursor: Sendable, Equatable {
        package let destination: String
        package let log: LogName
        /// Every lower sequence number is settled.
        package let low: UInt64
        /// Events before the first that the destination is accountable for.
        package let origin: UInt64
        package let ledger: Ledger
        /// Events not settled.
        package internal(set) var queued: UInt64 = 0
    }

    /// The dead letters of all destinations.
    package struct DeadLetters: Sendable, Equatable {
        package internal(set) var count = 0
        /// Of those, how many are to be sent again.
        package internal(set) var retried = 0
        /// Bytes of their files.
        package internal(set) var bytes = 0
    }

    package internal(set) var logs: [Log] = []
    package internal(set) var cursors: [Cursor] = []
    /// Damage in files that are no log's.
    package internal(set) var damages: [Damage] = []
    /// When the directory became a queue; nil where FORMAT cannot be read.
    package internal(set) var created: WallTime?
    package internal(set) var deadLetters = DeadLetters()
    /// Copies of damaged bytes that were set aside: files, and their bytes.
    package internal(set) var quarantine = (files: 0, bytes: 0)

    /// All that counts as damage.
    package var faults: [Damage] { (damages + logs.flatMap(\.damages)).filter(\.counts) }
}

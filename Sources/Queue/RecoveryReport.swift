package import Bytes
package import Gates

/// What the start found, to be named in the journal.
package struct RecoveryReport: Sendable, Equatable {
    /// A stretch of a log that could not be read as it was written.
    package struct Damage: Sendable, Equatable {
        /// What it is taken for.
        package enum Kind: String, Sendable {
            /// The end of a batch that was being written, never answered as far as is known; not counted as accepted.
            case tornTail = "torn tail"
            /// Bytes changed after they were written.
            case corrupted
            /// A write that was reported done and is not there.
            case lostWrite = "lost write"
            /// A header, context, table or trailer that a copy made good; no event is lost.
            case repaired
            /// A file that is shorter than it was, or events that a cursor passed and the log does not have.
            case missingTail = "missing tail"
            /// A segment's file, or a whole log, that is not there.
            case missing
            /// A file that has only the name of a segment, or of a dead letter; left alone, it hides no event.
            case stray
            /// A dead letter that is whole and that its destination's cursor does not count; the next start does.
            case uncounted = "a letter that is not counted"
        }

        package let kind: Kind
        package let log: LogName
        package let segment: UInt64
        /// Bytes from the start of the segment's file.
        package let offset: Int
        /// Bytes.
        package let length: Int
        /// The events in it, where any were lost.
        package let sequences: ClosedRange<UInt64>?
    }

    /// A cursor that could not be read, so that its destination starts again at the oldest event kept.
    package struct CursorReset: Sendable, Equatable {
        package let destination: String
        package let log: LogName
        package let low: UInt64
    }

    /// Dead letters that are whole and that their destination's cursor did not count, until now.
    package struct LettersAdopted: Sendable, Equatable {
        package let destination: String
        package let log: LogName
        package let count: UInt64
    }

    /// An event that a repeat of its request is told by.
    package struct Keyed: Sendable, Equatable {
        package let log: LogName
        package let key: DuplicateKey
        package let id: EventID
    }

    /// At most so many of `damages` are kept.
    static let maximumDamages = 1_000

    /// At most so many of `failures` are kept.
    private static let maximumFailures = 64

    /// Keeps a failure, once.
    mutating func note(_ failure: QueueError) {
        if failures.count < Self.maximumFailures, !failures.contains(failure) { failures.append(failure) }
    }

    /// A report that names nothing.
    package init() {}

    /// True where the directory was empty and is a queue now.
    package internal(set) var isNew = false
    package internal(set) var damages: [Damage] = []
    package internal(set) var cursorsReset: [CursorReset] = []
    package internal(set) var lettersAdopted: [LettersAdopted] = []
    /// Slots, of those in use, that could not be read.
    package internal(set) var damagedSlots = 0
    /// Events read from batches that were not whole.
    package internal(set) var salvaged = 0
    /// Paths that are no part of a queue; left alone.
    package internal(set) var strays: [String] = []
    /// What failed and left the queue degraded: it can be read, and commits try again.
    package internal(set) var failures: [QueueError] = []
    /// The newest events with a key, oldest first, at most 65,536, from the newest segment of each log.
    package internal(set) var keyed: [Keyed] = []
    /// What the keys of this queue's events are made with: a secret that is never told.
    package var keySeed = KeyedHash.Seed(low: 0, high: 0)
    /// The age clock of the newest batch, or as it was written down later, in milliseconds.
    package var age: UInt64 = 0
    /// The states of consent that operators have set.
    package internal(set) var consent = KeptConsent.whole([:])
    /// What the last run wrote down of the clocks.
    package internal(set) var clock: ClockRecord?
}

extension RecoveryReport {
    /// The age clock to go on from, in milliseconds.
    package func age(at now: ClockReading) -> UInt64 { max(age, clock?.age(at: now) ?? 0) }
}

/// What status shows of the queue, at one moment.
package struct QueueSnapshot: Sendable, Equatable {
    /// One log.
    package struct Log: Sendable, Equatable {
        package let name: LogName
        /// Events accepted since ever: the newest sequence number.
        package let accepted: UInt64
        /// The oldest sequence number that is kept; `accepted + 1` where none is.
        package let oldest: UInt64
        /// Events that some destination has not settled; all that are kept where there is no destination.
        package let events: UInt64
        /// Bytes on disk.
        package let bytes: UInt64
    }

    /// One destination in one log.
    package struct Cursor: Sendable, Equatable {
        package let destination: String
        package let log: LogName
        /// Every lower sequence number is settled.
        package let low: UInt64
        /// Events before the first that this destination is accountable for.
        package let origin: UInt64
        package let ledger: Ledger
        /// Events not settled.
        package let queued: UInt64
        /// True where the configuration does not name it any more.
        package let isRemoved: Bool

        /// Events that it is accountable for; equal to `ledger.total + queued`.
        package var accepted: UInt64 { ledger.total + queued }
    }

    /// How the storage does.
    package enum Storage: Sendable, Equatable {
        case good
        /// Nothing more fits for now.
        case full
        case failing
    }

    package let logs: [Log]
    package let cursors: [Cursor]
    /// Bytes on disk, as `du` counts, and what they may come to.
    package let bytes: UInt64
    package let limit: UInt64
    /// What they may come to now: `limit`, or less where the file system has not the room.
    package let bound: UInt64
    package let storage: Storage
    /// The newest error, kept while `storage` is not good.
    package let lastError: QueueError?
    /// True while a cursor's newest state could not be made durable.
    package let cursorsFailing: Bool
    /// How long the newest sync of a commit took, in microseconds.
    package let lastSyncMicroseconds: Int
    /// Bytes that the logs were given since the start.
    package var writtenBytes: UInt64 = 0
    /// Bytes that the file system has free and `KeepFree` keeps.
    package var keptFree: UInt64 = 0
    /// The lanes that are refused for want of room, the least urgent first.
    package var refused: [LogName] = []
    /// Why no commit would succeed now, not even an urgent event's; nil where it would.
    package var unwritable: QueueError?
}

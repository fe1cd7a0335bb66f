internal import Bytes

/// The settings of a queue.
package struct QueueOptions: Sendable {
    /// What the queue may take on disk, in bytes (`MaxSize`).
    package var maximumBytes: UInt64
    /// What must stay free on the file system (`KeepFree`), as bytes or as a share of it.
    package var keepFree: KeepFree
    /// The unit of writing in bytes (`Block`), a power of two from 512 to 65,536; nil: the device's physical block.
    package var block: Int?
    /// The length of a log's first segment in bytes.
    package var firstSegmentBytes: Int
    /// The length of its later segments in bytes.
    package var segmentBytes: Int
    /// How much of a segment is read at once, bytes.
    package var readBytes = SegmentWindow.usualStep
    /// How many dead letters there may be, however small they are.
    package var maximumLetters = 65_536
    /// How many dead letters are removed, or made to be sent again, between two commits.
    package var lettersPerSlice = 512
    /// What damaged bytes copied aside may take, in bytes.
    package var quarantineBytes: Int
    /// How old an event may become (`MaxAge`); nil: as old as its own time to live allows.
    package var maximumAge: Duration?
    /// What a full queue does (`WhenFull`).
    package var whenFull = WhenFull.reject

    /// The longest event that is committed (`MaxEventSize`), bytes.
    package var largestEventBytes = 12 << 10

    /// What a full queue does with new events.
    package enum WhenFull: Sendable, Equatable {
        /// It refuses them.
        case reject
        /// It gives up the oldest events of the same or a less urgent log for them.
        case dropOldest
    }

    /// Room that the queue leaves to others.
    package enum KeepFree: Sendable, Equatable {
        case bytes(UInt64)
        /// In hundredths of the file system.
        case percent(UInt64)
    }

    /// Settings for a size, with segments of a 64th of it, held between 64 KiB and 64 MiB, a log's first at most 1 MiB.
    ///
    /// An empty queue keeps up to three segments of each log, which must leave room for events.
    package init(maximumBytes: UInt64 = 512 << 20, keepFree: KeepFree = .percent(5), block: Int? = nil) {
        self.maximumBytes = maximumBytes
        self.keepFree = keepFree
        self.block = block
        segmentBytes = Int(min(64 << 20, max(64 << 10, maximumBytes / 64 / 4_096 * 4_096)))
        firstSegmentBytes = min(1 << 20, segmentBytes)
        quarantineBytes = 64 << 20
    }

    /// What events leave of `maximumBytes` to the next dead letters, in bytes, but no more than letters may take.
    ///
    /// It holds the longest event, with all that is kept beside it and the folders, and where there is room a segment's
    /// events, whose own room is free only once the last of them is settled.
    var letterReserve: Int {
        let longest = longestLetter + 2 * 4_096
        let shares = (Int(clamping: maximumBytes / 10), Int(clamping: maximumBytes / 50))
        return min(shares.0, max(longest, min(shares.1, segmentBytes + longest)))
    }

    /// What a log leaves to urgent events beside what is left to letters, in bytes: in a small queue letters have all
    /// that the shares of the logs leave.
    func urgentReserve(behind log: LogName) -> Int { log == .urgent ? 0 : Int(clamping: maximumBytes / 40) }

    /// What the letter of the longest event takes on disk, bytes.
    var longestLetter: Int { roundedUp(largestEventBytes + 4_096, to: 4_096) }

    /// What must stay free on a file system of so many bytes.
    func keep(of total: UInt64) -> UInt64 {
        switch keepFree {
        case .bytes(let bytes): bytes
        case .percent(let share): total / 100 * min(share, 100)
        }
    }
}

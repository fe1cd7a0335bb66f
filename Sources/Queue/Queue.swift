internal import Bytes
internal import Gates
internal import Posix
internal import Time

/// The durable queue: logs of events, and how far each destination has come in each.
///
/// Confined to one thread; every call may block on the disk.
package final class Queue {
    /// What the start found.
    package internal(set) var recovery = RecoveryReport()
    /// How long the newest sync of a commit took, in microseconds.
    package internal(set) var lastSyncMicroseconds = 0
    /// Bytes that the logs were given since the start.
    var writtenBytes: UInt64 = 0

    /// When the newest sync of a commit ended.
    var newestSync = Instant(nanoseconds: 0)
    let storage: any Storage
    let options: QueueOptions
    var destinations: [String]
    let randomBits: () -> UInt64
    let clock: () -> Instant
    let identity: QueueIdentity
    let quarantine: Quarantine
    let cursorFile: CursorFile
    let deadLetters: DeadLetterStore
    let window: SegmentWindow
    /// Held open for its lock.
    var lock: (any StorageFile)?
    /// FORMAT, where it could not be written yet.
    var unwrittenFormat: FormatPage?
    var logs: [LogName: LogState] = [:]
    var cursors: [CursorKey: Cursor] = [:]
    var nextSegment: UInt64 = 1
    /// True where the file `clock` is there.
    var hasClock = false
    /// The states of consent that operators have set.
    var consentStates: [String: ConsentState] = [:]
    /// True where the file `consent` is there.
    var hasConsent = false
    /// True where a write has failed, so that either may stand in it after a crash: what was kept before, or what was
    /// to be.
    var isConsentUnsure = false
    /// True until a file takes the place of one that the start could not read whole.
    var isConsentLost = false
    /// What stood in that one.
    var unreadConsent: [UInt8] = []
    /// The newest failure of a write or sync for a commit, lack of room being none; nil once one has succeeded.
    var commitFailure: QueueError?
    /// Why the start could not list the logs; nil where it could.
    var unlisted: QueueError?
    /// False where the file system has not given back what a file does not use.
    var canGiveUpReadyRoom = true
    /// What the newest commit of each lane needed, in bytes, where there was no room for it.
    var lackingBytes: [LogName: Int] = [:]
    /// What a purge that failed took out, so that the next call for the same tells of it.
    var untoldPurged: Set<EventID> = []
    /// The log whose commit failed, and the newest moment of a commit, for trying again.
    var failedLog: LogName?
    var lastMoment: Moment
    /// When a commit that failed is tried again; nil where it is not known to fail.
    var retryDue: Instant?
    /// Errors of writes and syncs since the start, until they are asked for; no more than a few.
    private var newFailures: [QueueError] = []
    #if DEBUG
        /// Before the ledger is checked again.
        var settlementsUnchecked = 0
    #endif
    /// Strays found since the start, until it is asked for.
    var newStrays: [String] = []
    /// What takes room without being part of the queue.
    var strayFiles = StrayFiles()
    /// When strays are looked for again, should anything be done then.
    var straysDue = Instant(nanoseconds: 0)
    /// Damage found since the start, until it is asked for.
    var newDamages: [RecoveryReport.Damage] = []
    /// The last events of the ranges that were named because no file holds them.
    var namedMissing: [LogName: Set<UInt64>] = [:]
    var cursorsDirtySince: Instant?
    /// What is at the cursors that stood still.
    var heads: [CursorKey: Head] = [:]
    /// When cursors are looked at for what has expired; nil while nothing waits.
    var headsDue: Instant?
    /// True where events were committed, or settled, since that was found.
    var headsChanged = true
    /// Logs that were read later than at the start, until it is asked for.
    var lateLogs: [LateLog] = []
    /// Cursors that moved by themselves, until it is asked for.
    var moves: [CursorMove] = []
    /// The age clock when the event at each cursor was made durable, as last looked up.
    var lookedUpAges: [CursorKey: (sequence: UInt64, age: UInt64)] = [:]
    /// When letters that could not be let go are tried again; nil where there are none.
    var lettersDue: Instant?
    /// Until when the preparing of segments rests after an error.
    var preparingRestsUntil = Instant(nanoseconds: 0)
    /// The segment files that readers have open, the newest first.
    var openFiles: [(segment: UInt64, file: any StorageFile, size: Int)] = []

    /// One destination in one log.
    struct CursorKey: Hashable {
        let destination: String
        let log: LogName
    }

    /// A cursor and its place in the file.
    struct Cursor {
        var state: CursorState
        var slot: Int
    }

    init(
        _ storage: any Storage, _ options: QueueOptions, _ destinations: [String], _ format: FormatPage,
        lock: (any StorageFile)?, randomBits: @escaping () -> UInt64, clock: @escaping () -> Instant
    ) {
        precondition(options.block.map(Block.isPossible) ?? true)
        self.storage = storage
        self.options = options
        self.destinations = destinations
        self.lock = lock
        // Whoever only looks may meet more holes than a daemon leaves.
        window = SegmentWindow(passesHoles: lock == nil, step: options.readBytes)
        self.randomBits = randomBits
        self.clock = clock
        lastMoment = Moment(wall: format.created, age: 0)
        identity = format.identity
        quarantine = Quarantine(storage, limit: options.quarantineBytes)
        cursorFile = CursorFile(storage, seal: format.identity.seal)
        deadLetters = DeadLetterStore(storage, seal: format.identity.seal)
    }

    /// Damage that reading found since the last call, to be named in the journal.
    package func takeDamages() -> [RecoveryReport.Damage] {
        defer { newDamages.removeAll() }
        return newDamages
    }

    /// What failed since the last call, to be named in the journal, also where another try made it good.
    package func takeFailures() -> [QueueError] {
        defer { newFailures.removeAll() }
        return newFailures
    }

    /// Keeps an error until it is asked for.
    func remember(_ failure: QueueError) {
        if newFailures.count < 8, newFailures.last != failure { newFailures.append(failure) }
    }

    /// Makes the cursors durable and gives up the lock; nothing may be called after it.
    package func close() {
        do throws(QueueError) { try synchroniseCursors() } catch {}
        logs.removeAll()
        openFiles.removeAll()
        window.detach()
        lock = nil
    }

    /// Runs a call on a file and says, should it fail, which.
    func attempt<Value>(
        _ operation: QueueError.Operation, _ path: String, at offset: Int = 0, _ body: () throws(Errno) -> Value
    ) throws(QueueError) -> Value {
        do throws(QueueError) {
            return try storage.attempt(operation, path, at: offset, body)
        } catch {
            if operation != .read { remember(error) }
            throw error
        }
    }

    /// The logs by name, so that the same calls come to the disk in the same order at each run.
    var logsInOrder: [LogState] { logs.values.sorted { $0.name.text < $1.name.text } }

    /// Bytes on disk, as `du` counts.
    package var bytesOnDisk: UInt64 {
        let folders = 3 + logs.values.count { $0.directoryExists }
        let others = cursorFile.bytes + quarantine.bytes + deadLetters.bytes + strayFiles.bytes
        let files = logs.values.reduce(others) { $0 + $1.bytes }
        let singles = FormatPage.size + (hasClock ? 4_096 : 0) + (hasConsent ? ConsentRecord.size : 0)
        return UInt64(files + singles + folders * 4_096)
    }
}

/// A log that could be read only after the start, as it was then.
package struct LateLog: Sendable, Equatable {
    package let name: LogName
    /// The newest event, which an earlier run accepted.
    package let last: UInt64
    /// For each destination the first sequence number that it has not settled.
    package let lows: [String: UInt64]

    package init(name: LogName, last: UInt64, lows: [String: UInt64]) {
        self.name = name
        self.last = last
        self.lows = lows
    }
}

/// How far a destination has come in a log.
package struct CursorState: Sendable, Equatable {
    /// Every lower sequence number is settled.
    package internal(set) var low: UInt64
    /// Events before the first that this destination is accountable for; `low - 1 - origin == ledger.total`.
    package internal(set) var origin: UInt64
    package internal(set) var ledger: Ledger
}

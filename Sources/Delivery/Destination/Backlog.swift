internal import Gates
internal import Queue
internal import Time

/// What one log holds for one destination.
struct Backlog: Sendable {
    let log: LogName
    /// The first sequence number that is not settled.
    private(set) var low: UInt64
    /// The newest durable one.
    private(set) var newest: UInt64
    private(set) var marks: Marks

    /// Which of all batches its newest was; 0 before the first.
    var turn: UInt64 = 0
    /// Chunks not yet, or not wholly, in a batch; oldest first.
    private(set) var ahead: [Chunk] = []
    /// How many bytes `ahead` holds.
    private(set) var aheadBytes = 0
    /// A run that was refused, of which one event is to blame; nil where none is.
    var suspects: Suspects?
    /// How many records of the first chunk are in batches.
    var taken = 0
    /// The first sequence number that is in no batch.
    private(set) var unformed: UInt64
    /// Where the next chunk begins.
    private(set) var unread: UInt64
    /// The read in flight.
    private(set) var read: UInt64?
    /// Not to be read before, after a read that brought nothing.
    private(set) var readableFrom: Instant?

    /// What waits at the start; all of it waited through a restart.
    init(_ position: LogPosition) {
        precondition(position.low > 0 && position.newest + 1 >= position.low)
        log = position.log
        low = position.low
        newest = position.newest
        unformed = low
        unread = low
        marks = Marks(restartedWith: position.newest)
    }

    /// True where events wait that are in no batch.
    var hasUnformed: Bool { unformed <= newest }

    /// True where all is settled.
    var isEmpty: Bool { low > newest }

    /// How many events were read and are in no batch.
    var records: Int { ahead.reduce(-taken) { $0 + $1.records.count } }

    mutating func extend(to newest: UInt64) { self.newest = max(self.newest, newest) }

    mutating func mark(_ gate: Gate) { marks.mark(through: newest, gate) }

    /// True where a read may begin; `limitBytes` bounds what is read ahead.
    func mayRead(limitBytes: Int, at now: Instant) -> Bool {
        read == nil && unread <= newest && aheadBytes < limitBytes && (readableFrom.map { $0 <= now } ?? true)
    }

    /// What waits has the marks of another, which it replaces.
    mutating func takeMarks(of former: Backlog) {
        marks = former.marks
        marks.settle(below: low)
    }

    mutating func beginRead(_ id: UInt64) {
        read = id
        readableFrom = nil
    }

    mutating func took(_ chunk: Chunk) {
        precondition(chunk.sequences.lowerBound == unread)
        read = nil
        unread = chunk.sequences.upperBound + 1
        aheadBytes += chunk.bytes.count
        extend(to: chunk.sequences.upperBound)
        ahead.append(chunk)
    }

    mutating func readNothing(tryAgainAt then: Instant) {
        read = nil
        readableFrom = then
    }

    /// The first chunk is wholly in batches.
    mutating func dropChunk() {
        aheadBytes -= ahead.removeFirst().bytes.count
        taken = 0
    }

    /// Everything up to `last` is in a batch.
    mutating func formed(through last: UInt64) { unformed = last + 1 }

    /// Lets go of what was read ahead, so that it is read and formed anew from `sequence` on.
    mutating func rewind(to sequence: UInt64) {
        ahead = []
        aheadBytes = 0
        taken = 0
        unformed = sequence
        unread = sequence
        read = nil
    }

    /// Everything up to `last` is settled; nothing happens where that is so already.
    mutating func settle(through last: UInt64) {
        low = max(low, last + 1)
        marks.settle(below: low)
        if let suspects, suspects.through < low { self.suspects = nil }
    }
}

/// The events of a batch that was refused; at least one of them is to blame.
///
/// Batches of half of them find it: where a half is taken, it is in the rest, of which half is sent next.
struct Suspects: Sendable {
    /// The sequence number of the last one.
    let through: UInt64
    /// How many there are.
    var events: Int

    /// How many to send next.
    var half: Int { max(1, events / 2) }
}

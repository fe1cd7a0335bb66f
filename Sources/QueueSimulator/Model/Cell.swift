internal import Queue

/// The unit that a disk keeps, loses or damages: a structure with a checksum of its own.
enum Cell: Equatable {
    case zero
    case segment(SegmentHeader)
    case batch(BatchHeader)
    case record(Record)
    /// What a purge left of a record.
    case hole(sequence: Int, segment: Int)
    /// The copy of the header at the end of a batch.
    case trailer(BatchHeader)
    case slot(Slot)
    case letter(Letter)
    /// Counters in a file of their own, which only a planted variant keeps.
    case counters(Ledger)
    /// Bytes whose checksum is wrong, with the length that a reader would find in them.
    case damaged(length: Int)
}

struct SegmentHeader: Equatable {
    let log: Int
    let id: Int
    let epoch: UInt64
    let first: Int
    var holes: Int
}

struct BatchHeader: Equatable {
    let segment: Int
    let epoch: UInt64
    let first: Int
    let count: Int
}

struct Record: Equatable {
    /// The segment whose id seeds the checksum.
    let segment: Int
    let sequence: Int
    /// What the client posted, unique.
    let token: Int
    /// From when on it may be dropped.
    let deadline: Int?
}

/// A destination's place in a log, with what became of the events before it.
struct Slot: Equatable {
    var generation: Int
    var low: Int
    /// Events before the first one that the destination answers for.
    var origin: Int
    var ledger: Ledger
}

struct Letter: Hashable {
    let destination: Int
    let log: Int
    let epoch: UInt64
    let sequence: Int
}

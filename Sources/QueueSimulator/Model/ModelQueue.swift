/// The rules of the queue, over a `ModelDisk`.
final class ModelQueue {
    /// Batches in a segment.
    static let batchesPerSegment = 3
    /// Events in a request.
    static let eventsPerRequest = 4
    /// How many events a destination may be sent beyond its durable cursor.
    static let window = 12

    struct Segment {
        let id: Int
        let first: Int
        /// The last sequence number that it accounts for.
        var last: Int
        var file: Int
    }

    /// The segment being written.
    struct Active {
        let id: Int
        let file: Int
        var batches: Int
    }

    struct Log {
        var segments: [Segment] = []
        var active: Active?
        /// The next sequence number.
        var next = 1
        /// New at each start.
        let epoch: UInt64
        /// All that the last sync made durable, kept until the next one succeeded: a disk that fails may have lost it.
        var lastBatch: [Event] = []
        /// Whether `lastBatch` must be committed again.
        var isSuspect = false
    }

    /// An event in memory, before it stands in a segment.
    enum Event {
        case posted(sequence: Int, token: Int, deadline: Int?)
        case hole(sequence: Int)

        var sequence: Int {
            switch self {
            case .posted(let sequence, _, _), .hole(let sequence): sequence
            }
        }
    }

    struct Settled {
        let destination: Int
        let log: Int
        let sequence: Int
        let fate: Fate
    }

    let disk: ModelDisk
    let variant: Variant?
    var logs: [Log]
    var nextSegment = 1
    var cursors: ModelCursors
    var letters = Set<Letter>()
    var lettersFile: Int?
    var nextName = 1
    /// What was settled since it was last taken, for the observer.
    var settled: [Settled] = []
    private var parsed: [Int: (cells: [Cell], contents: SegmentContents)] = [:]

    /// The destinations that have cursors.
    var known: Set<Int>

    /// Starts on what the disk holds; `epoch` is this start's.
    init(disk: ModelDisk, variant: Variant?, epoch: UInt64, destinations: [Int]) throws(DiskError) {
        known = Set(destinations)
        self.disk = disk
        self.variant = variant
        logs = (0..<QueueShape.logs).map { Log(epoch: epoch &+ UInt64($0)) }
        cursors = ModelCursors()
        try recover()
    }

    /// What a destination may be told of an event; the newest segment that covers it decides.
    func event(_ log: Int, _ sequence: Int) -> (event: SegmentContents.Event, epoch: UInt64) {
        guard let segment = logs[log].segments.last(where: { $0.first <= sequence }) else { return (.damaged, 0) }
        let contents = contents(of: segment)
        return (contents[sequence] ?? .damaged, contents.epoch ?? 0)
    }

    func contents(of segment: Segment) -> SegmentContents {
        let cells = disk.cells(segment.file)
        if let known = parsed[segment.file], known.cells == cells { return known.contents }
        let contents = SegmentContents(cells: cells, id: segment.id, first: segment.first, variant: variant)
        parsed[segment.file] = (cells, contents)
        return contents
    }

    /// The events of a log that the segments account for, from `low` on.
    func queued(_ log: Int, from low: Int) -> Int {
        var next = low
        var count = 0
        for segment in logs[log].segments where segment.last >= next {
            count += segment.last - max(segment.first, next) + 1
            next = segment.last + 1
        }
        return count
    }

    /// The oldest event kept, or the next one.
    func oldest(_ log: Int) -> Int { logs[log].segments.first?.first ?? logs[log].next }

    func makeName() -> Int {
        nextName += 1
        return nextName
    }
}

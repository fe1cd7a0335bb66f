internal import Gates

/// A log, as the disk thread knows it.
final class LogState {
    /// A segment's file.
    struct Segment: Equatable {
        let name: SegmentName
        /// How long it is, bytes.
        let size: Int
        /// Bytes on disk.
        var allocated: Int
        /// How far it is known to be filled, bytes; 0 where an earlier run wrote it.
        var filled = 0
        /// False where it failed or is damaged, so that its file must not be used again.
        var isSound = true
        /// True where more than its name says that it is the log's.
        var isProven = true
    }

    let name: LogName
    /// Of the events accepted since this start.
    let epoch: UInt64
    /// By id, which is the order in which they were made.
    var segments: [Segment] = []
    /// The newest durable event; 0 before the first.
    var last: UInt64 = 0
    /// How far the newest segment with durable events goes.
    var tip: SegmentHeader.Previous?
    var writer: SegmentWriter?
    var spare: SpareSegment?
    var directoryExists = false
    /// Why the start could not read it; nil where it could.
    var unrecovered: QueueError?
    /// True where none of its segments is there, though a cursor says that there were some.
    var isGone = false
    /// How many times that was tried in vain.
    var failedScans = 0
    /// The batches of the newest sync, written again should the next one fail.
    var kept: [OpenBatch] = []
    /// True where `kept` must go to the next segment, before anything else.
    var mustCommitAgain = false
    /// True where a purge of all of it has counted and could not take the files away.
    var isPurgeUnfinished = false
    /// The first event of which a start has yet to make sure that it is durable.
    var unconfirmed: UInt64?
    /// Segments that are not needed once `kept` is durable in a new one, and what that one continues if not `tip`.
    var copies: [SegmentName] = []
    var original: SegmentHeader.Previous?
    /// A segment of an earlier run behind whose last batch there is room that nobody needs, and where that begins.
    var slack: (segment: SegmentName, offset: Int)?
    /// The last event of the segments that went because it was settled everywhere; copies that stay a little longer
    /// need not hold all before it.
    var settledEnd: UInt64 = 0
    /// Where readers stand.
    var places = ReadPlaces()
    /// The newest failed read: of which event, and how many times in a row.
    var failedRead: (sequence: UInt64, times: Int) = (0, 0)

    init(_ name: LogName, epoch: UInt64) {
        self.name = name
        self.epoch = epoch
    }

    /// Where its files are.
    var folder: String { Self.folder + "/" + name.text }
    static let folder = "logs"

    func path(of segment: SegmentName) -> String { folder + "/" + segment.text }

    /// The oldest sequence number that a segment may hold and that was not settled everywhere when a segment went;
    /// `last + 1` where there is none.
    var oldest: UInt64 { min(max(segments.lazy.map(\.name.first).min() ?? last + 1, settledEnd + 1), last + 1) }

    /// The newest segment that may hold an event: a later one holds again what an earlier one had to give up.
    func index(holding sequence: UInt64) -> Int? { segments.lastIndex { $0.name.first <= sequence } }

    /// The last event that is looked for in a segment; less than its first where a later one took all of them over.
    func end(of index: Int) -> UInt64 { limit(of: index).map { min(segments[$0].name.first - 1, last) } ?? last }

    /// Which of the segments behind one begins first, so that it ends what is looked for in that one.
    func limit(of index: Int) -> Int? {
        segments.indices[(index + 1)...].min { segments[$0].name.first < segments[$1].name.first }
    }

    /// Bytes of its files.
    var bytes: Int { segments.reduce(spare?.size ?? 0) { $0 + $1.allocated } }
}

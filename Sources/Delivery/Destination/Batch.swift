internal import Queue

/// A run of events of one log that is sent together; its bytes never change.
struct Batch: Sendable {
    /// `<epoch>-<first>-<16 random hexadecimal digits>`.
    let id: String
    let log: LogName
    /// All sequence numbers that it accounts for.
    let sequences: ClosedRange<UInt64>
    /// What becomes of them once it is acknowledged.
    var dispositions: [Disposition]
    /// How many events it carries.
    let events: Int
    let body: [UInt8]
    /// How often its event was sent before it became the dead letter that is sent again; nil where it is none.
    var triesAsLetter: Int?
    /// True where one of its events carries no mark.
    let hasUnmarked: Bool
    /// How often it was sent.
    var attempts = 0
    /// True where a try may have got to the destination.
    var mayBeKnown = false

    /// True where its event is a dead letter that is sent again.
    var isLetter: Bool { triesAsLetter != nil }

    /// True where the number of one of its events is less.
    func carriesEvent(below low: UInt64) -> Bool {
        dispositions.contains { $0.kind == .delivered && $0.sequences.lowerBound < low }
    }

    /// The sequence number of its event, where it carries one only.
    var only: UInt64? {
        events == 1 ? dispositions.first { $0.kind == .delivered }?.sequences.lowerBound : nil
    }
}

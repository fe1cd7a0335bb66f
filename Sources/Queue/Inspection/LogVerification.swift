/// Adds up what the segments of one log hold.
struct LogVerification {
    /// The newest event that the log is known to have accepted.
    private(set) var last: UInt64 = 0

    private var result: Verification.Log
    private let segments: [SegmentName]
    private var events = RangeSet<UInt64>()
    private var holes = RangeSet<UInt64>()
    /// Numbers in segments that went while they were read.
    private var gone = RangeSet<UInt64>()
    private var oldest: UInt64?
    /// False where the newest segment went.
    private var endIsKnown = true

    init(_ name: LogName, segments: [SegmentName]) {
        result = Verification.Log(name: name)
        self.segments = segments
    }

    /// Takes the segment at `index`; nil where it has gone.
    mutating func add(_ reading: SegmentReading?, at index: Int) {
        let name = segments[index]
        let next = segments[(index + 1)...].first?.first
        endIsKnown = reading != nil || next != nil
        guard let reading else {
            let end = max(next ?? name.first, name.first)
            gone.insert(contentsOf: name.first..<end)
            oldest = min(oldest ?? name.first, name.first)
            last = max(last, end - 1)
            return
        }
        guard !reading.isStray else {
            return note(
                Verification.Damage(
                    kind: .stray, path: reading.path, offset: 0, length: reading.size, sequences: nil))
        }
        result.segments += 1
        result.batches += reading.scan.batches
        result.bytes += reading.size
        result.damages += reading.damages.map {
            Verification.Damage(
                kind: $0.kind, path: reading.path, offset: $0.offset, length: $0.length, sequences: $0.sequences)
        }
        events.formUnion(reading.scan.events)
        holes.formUnion(reading.scan.holes)
        oldest = min(oldest ?? name.first, name.first)
        last = max(last, reading.scan.last, name.first - 1)
    }

    /// What the log comes to; `cursors` are those of its destinations.
    mutating func finish(_ cursors: [CursorSlot]) -> Verification.Log {
        let oldest = oldest ?? last + 1
        if oldest <= last { result.sequences = oldest...last }
        var gaps = RangeSet(oldest..<last + 1)
        gaps.subtract(events)
        gaps.subtract(holes)
        gaps.subtract(gone)
        result.gaps = gaps.ranges.map { $0.lowerBound...$0.upperBound - 1 }
        result.holes = holes.ranges.reduce(0) { $0 + UInt64($1.count) }
        result.events = events.ranges.reduce(0) { $0 + UInt64($1.count) }
        for damage in result.damages {
            guard let sequences = damage.sequences else { continue }
            gaps.remove(contentsOf: sequences.lowerBound..<sequences.upperBound + 1)
        }
        for gap in gaps.ranges { note(.missing(of: result.name, gap.lowerBound...gap.upperBound - 1)) }
        for cursor in cursors {
            if cursor.low < oldest { note(.missing(of: result.name, cursor.low...oldest - 1)) }
            if cursor.low > last + 1, endIsKnown { note(.missing(of: result.name, last + 1...cursor.low - 1)) }
        }
        return result
    }

    private mutating func note(_ damage: Verification.Damage) {
        if !result.damages.contains(damage) { result.damages.append(damage) }
    }
}

extension Verification.Damage {
    /// Events that no file holds.
    static func missing(of log: LogName, _ sequences: ClosedRange<UInt64>) -> Verification.Damage {
        Verification.Damage(
            kind: .missing, path: LogState.folder + "/" + log.text, offset: 0, length: 0, sequences: sequences)
    }
}

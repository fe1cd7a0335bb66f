/// Adds up what the segments of one log hold.
struct LogVerification {
    /// The newest event that the log is known to have accepted.
    private(set) var last: UInt64 = 0

    private var result: Verification.Log
    private let segments: [SegmentName]
    private var events = RangeSet<UInt64>()
    private var holes = RangeSet<UInt64>()
    /// Numbers in segments that went, or were written, while they were read.
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
        for sequences in reading.unsure { gone.insert(contentsOf: sequences.lowerBound..<sequences.upperBound + 1) }
        holes.formUnion(reading.scan.holes)
        oldest = min(oldest ?? name.first, name.first)
        last = max(last, reading.scan.last, name.first - 1)
    }

    /// What the log comes to; `cursors` are those of its destinations.
    ///
    /// Only `suspects` can be missing, if they are given.
    mutating func finish(_ cursors: [CursorSlot], suspects: RangeSet<UInt64>?) -> Verification.Log {
        let oldest = oldest ?? last + 1
        if oldest <= last { result.sequences = oldest...last }
        var gaps = RangeSet(oldest..<last + 1)
        gaps.subtract(events)
        gaps.subtract(holes)
        gaps.subtract(gone)
        var missing = gaps
        for sequences in result.damages.compactMap(\.sequences) {
            missing.remove(contentsOf: sequences.lowerBound..<sequences.upperBound + 1)
        }
        for cursor in cursors {
            if cursor.low < oldest { missing.insert(contentsOf: cursor.low..<oldest) }
            if cursor.low > last + 1, endIsKnown { missing.insert(contentsOf: last + 1..<cursor.low) }
        }
        if let suspects {
            gaps.subtract(missing.subtracting(suspects))
            missing.formIntersection(suspects)
        }
        result.missing = missing
        result.gaps = gaps.ranges.map { $0.lowerBound...$0.upperBound - 1 }
        result.holes = holes.count
        result.events = events.count
        for gap in missing.ranges { note(.missing(of: result.name, gap.lowerBound...gap.upperBound - 1)) }
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

/// What a reader makes of a segment's cells.
struct SegmentContents {
    enum Event: Equatable {
        case record(Record)
        case hole
        case damaged
    }

    let first: Int
    private(set) var epoch: UInt64?
    /// The events from `first` on, without gaps.
    private(set) var events: [Event] = []

    var last: Int { first + events.count - 1 }

    subscript(sequence: Int) -> Event? {
        sequence >= first && sequence <= last ? events[sequence - first] : nil
    }

    /// Walks to the end whatever is damaged: a batch is found by its header or by its trailer, a record by itself.
    init(cells: [Cell], id: Int, first: Int, variant: Variant?) {
        self.first = first
        if case .segment(let header) = cells.first { epoch = header.epoch }
        var position = 1
        while position < cells.count {
            if let batch = Self.batch(in: cells, at: position, id: id) {
                epoch = batch.epoch
                for index in 0..<batch.count {
                    let event = Self.event(cells, at: position + 1 + index, id: id, sequence: batch.first + index)
                    set(batch.first + index, event ?? .damaged)
                }
                position += batch.count + 2
            } else if variant == .stopAtFirstDamage {
                return
            } else if variant == .trustLengthOfDamagedHeader, case .damaged(let length) = cells[position], length > 0 {
                position += length
            } else {
                salvage(cells, at: position, id: id)
                position += 1
            }
        }
        // Without the epoch no event has its name, and under another it would be another event.
        if epoch == nil { events = events.map { $0 == .hole ? .hole : .damaged } }
    }

    private mutating func salvage(_ cells: [Cell], at position: Int, id: Int) {
        switch cells[position] {
        case .record(let record) where record.segment == id: set(record.sequence, .record(record))
        case .hole(let sequence, id): set(sequence, .hole)
        default: break
        }
    }

    private mutating func set(_ sequence: Int, _ event: Event) {
        guard sequence >= first else { return }
        while last < sequence { events.append(.damaged) }
        events[sequence - first] = event
    }

    private static func batch(in cells: [Cell], at position: Int, id: Int) -> BatchHeader? {
        if case .batch(let header) = cells[position], header.segment == id { return header }
        for end in position..<cells.count {
            switch cells[end] {
            case .trailer(let header) where header.segment == id && end - header.count - 1 == position: return header
            case .batch: if end > position { return nil }
            default: break
            }
        }
        return nil
    }

    private static func event(_ cells: [Cell], at position: Int, id: Int, sequence: Int) -> Event? {
        guard position < cells.count else { return nil }
        switch cells[position] {
        case .record(let record) where record.segment == id && record.sequence == sequence: return .record(record)
        case .hole(sequence, id): return .hole
        default: return nil
        }
    }
}

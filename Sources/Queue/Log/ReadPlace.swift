internal import Bytes
internal import Gates
internal import Posix
internal import Time

/// Where a reader stands in a segment, so that the next chunk begins without a search.
struct ReadPlace {
    private static let maximumRecords = 8_192

    let segment: UInt64
    /// The next event.
    private(set) var sequence: UInt64
    private var walk: BatchWalk
    private var records: RecordWalk?
    /// What is between the batch that ended and the `following` one, or the segment's end.
    private var search: RecordSearch?
    private var following: FoundBatch?
    /// Of the batch that `records` walks, or of the record that `search` found.
    private var epoch: UInt64 = 0
    private var age: UInt64 = 0
    private var context: AcceptContext

    /// A reader that has yet to look for `sequence` in the segment that `window` stands on, from where `walk` begins or
    /// else from its first block.
    init(
        _ window: SegmentWindow, _ segment: SegmentName, seal: UInt32, sequence: UInt64, end: Int,
        from walk: BatchWalk? = nil
    ) {
        self.segment = segment.id
        self.sequence = sequence
        self.walk =
            walk
            ?? BatchWalk(
                window, segment: segment.id, seal: seal, from: Block.least, to: end,
                expecting: BatchPlace(number: 0, sequence: segment.first))
        context = .unknown
    }

    /// True where it has found no more batches: what is written later it would not see.
    var isAtEnd: Bool { walk.offset >= walk.end }

    /// Reads events up to `end` into a chunk, until it has `limit` bytes of them or four times as many were read.
    mutating func fill(_ chunk: inout ChunkBuilder, through end: UInt64, limit: Int) throws(Errno) {
        let window = walk.window
        let most = 4 * max(limit, window.step)
        var start: Int?
        while sequence <= end, chunk.bytes.count < limit, chunk.records.count < Self.maximumRecords,
            window.bytesRead - (start ?? window.bytesRead) < most
        {
            // The search for the first event does not count.
            if start == nil, !chunk.isEmpty { start = window.bytesRead }
            if let ahead = search {
                guard try take(ahead, &chunk, through: end) else { return }
                continue
            }
            guard let next = records else {
                try findBatch(through: end)
                continue
            }
            if loseRest(before: next.sequence, through: end, at: next.offset, &chunk) { continue }
            // A chunk has the epoch of one start.
            guard chunk.records.isEmpty || chunk.epoch == epoch else { return }
            chunk.epoch = epoch
            if chunk.records.isEmpty { chunk.age = age }
            if takeLoaded(&chunk, through: end, limit: limit) { continue }
            switch try records?.next() {
            case nil: records = nil
            case .record(let found, let index, let length):
                guard found >= sequence else { continue }
                chunk.note(context)
                chunk.append(window.bytes, at: index, length: length, sequence: found, madeDurableAt: age)
                sequence = found + 1
            case .hole(let found):
                guard found >= sequence else { continue }
                chunk.dispose(of: found, as: .purged)
                sequence = found + 1
            case .damaged(let found, let bytes):
                guard found.upperBound >= sequence else { continue }
                let rest = max(found.lowerBound, sequence)...min(found.upperBound, end)
                lose(rest, bytes, &chunk, from: found.lowerBound)
            }
        }
    }

    /// Takes records that stand in memory, as far as they are whole; true where there was one.
    private mutating func takeLoaded(_ chunk: inout ChunkBuilder, through end: UInt64, limit: Int) -> Bool {
        guard var walk = records else { return false }
        let bytes = self.walk.window.bytes
        let start = self.walk.window.start
        let first = walk.sequence
        chunk.note(context)
        while sequence <= end, chunk.bytes.count < limit, chunk.records.count < Self.maximumRecords,
            let (found, index, length) = walk.next(in: bytes, from: start)
        {
            guard found >= sequence else { continue }
            chunk.append(bytes, at: index, length: length, sequence: found, madeDurableAt: age)
            sequence = found + 1
        }
        records = walk
        return walk.sequence > first
    }

    /// Goes to the next batch, or to what stands before it instead of events that are due.
    private mutating func findBatch(through end: UInt64) throws(Errno) {
        let place = walk.expected
        let from = walk.offset
        let window = walk.window
        var epochs = place.number > 0 ? [epoch] : []
        guard let found = try walk.next() else {
            if let header = try SegmentScan.header(window, segment: segment) { epochs.append(header.epoch) }
            search = RecordSearch(
                window, segment: segment, in: from..<max(from, min(walk.end, from + OpenBatch.maximumBytes)),
                expecting: place, before: .max, through: end, epochs: epochs)
            age = BatchHeader.unknownAge
            return
        }
        guard found.header.first > sequence, found.header.first > place.sequence else { return try enter(found) }
        following = found
        epochs.append(found.header.epoch)
        search = RecordSearch(
            window, segment: segment, in: from..<found.offset, expecting: place, before: found.header.number,
            through: found.header.first - 1, epochs: epochs)
        age = found.header.age
        context = .unknown
    }

    private mutating func enter(_ found: FoundBatch) throws(Errno) {
        epoch = found.header.epoch
        age = found.header.age
        guard found.header.last >= sequence else { return }
        records = RecordWalk(walk.window, found.header, at: found.offset)
        let bytes = try walk.window.context(of: found.header, at: found.offset)
        context = bytes.flatMap { AcceptContext(decoding: $0) } ?? .unknown
    }

    /// Takes the next record that stands in no batch that can be read; false where the chunk must end before it.
    private mutating func take(
        _ search: RecordSearch, _ chunk: inout ChunkBuilder, through end: UInt64
    ) throws(Errno) -> Bool {
        if loseRest(before: search.sequence, through: end, at: search.offset, &chunk) { return true }
        var search = search
        switch try search.next() {
        case nil:
            self.search = nil
            if let found = following {
                following = nil
                try enter(found)
            } else if sequence <= end {
                lose(sequence...end, search.offset..<search.offset, &chunk)
            }
        case .record(let found, let index, let length):
            guard chunk.records.isEmpty || chunk.epoch == search.epoch || found < sequence else { return false }
            self.search = search
            guard found >= sequence else { break }
            epoch = search.epoch
            chunk.epoch = epoch
            if chunk.records.isEmpty { chunk.age = age }
            chunk.note(.unknown)
            chunk.append(walk.window.bytes, at: index, length: length, sequence: found, madeDurableAt: age)
            sequence = found + 1
        case .hole(let found):
            self.search = search
            guard found >= sequence else { break }
            chunk.dispose(of: found, as: .purged)
            sequence = found + 1
        case .damaged(let found, let bytes):
            self.search = search
            guard found.upperBound >= sequence else { break }
            // Behind the last batch nothing is known to stand.
            let isRest = following == nil && search.offset == search.end
            let rest = max(found.lowerBound, sequence)...min(found.upperBound, end)
            lose(rest, isRest ? bytes.prefix(0) : bytes, &chunk, from: found.lowerBound)
        }
        return true
    }

    /// Loses what the chunk before was not to hold of a range that is not there; true where there is any.
    ///
    /// The segment that had it end there has turned out to be none.
    private mutating func loseRest(
        before next: UInt64, through end: UInt64, at offset: Int, _ chunk: inout ChunkBuilder
    ) -> Bool {
        guard next > sequence else { return false }
        lose(sequence...min(next - 1, end), offset..<offset, &chunk)
        return true
    }

    private mutating func lose(
        _ sequences: ClosedRange<UInt64>, _ bytes: Range<Int>, _ chunk: inout ChunkBuilder, from first: UInt64? = nil
    ) {
        let first = first ?? sequences.lowerBound
        chunk.lost.append(ChunkBuilder.Lost(sequences: sequences, first: first, segment: segment, bytes: bytes))
        sequence = sequences.upperBound + 1
    }
}

/// The places of a log's readers, the newest first; enough for all destinations.
struct ReadPlaces {
    private static let maximum = 16
    private var places: [ReadPlace] = []

    /// Takes out the place that stands at an event of a segment.
    mutating func take(segment: UInt64, sequence: UInt64) -> ReadPlace? {
        guard let index = places.firstIndex(where: { $0.segment == segment && $0.sequence == sequence }) else {
            return nil
        }
        return places.remove(at: index)
    }

    mutating func put(_ place: ReadPlace) {
        if places.count == Self.maximum { places.removeLast() }
        places.insert(place, at: 0)
    }

    mutating func removeAll() { places.removeAll() }
}

/// A chunk that is being filled.
struct ChunkBuilder {
    /// Events that a segment should hold and does not, and where their bytes stand in its file.
    struct Lost {
        let sequences: ClosedRange<UInt64>
        /// The first event in those bytes, which the reader may have no need of.
        let first: UInt64
        let segment: UInt64
        let bytes: Range<Int>

        func only(_ part: ClosedRange<UInt64>) -> Lost {
            let first = part.lowerBound == sequences.lowerBound ? first : part.lowerBound
            return Lost(sequences: part, first: first, segment: segment, bytes: bytes)
        }
    }

    /// Beyond so many bytes there is most likely enough for a chunk of `limit` bytes.
    private static let fewBytes = 16 * 1_024

    /// Bytes of events that are aimed at.
    let limit: Int
    let expiry: Expiry
    /// Events that are dead letters already.
    let buried: Set<UInt64>
    var epoch: UInt64 = 0
    /// The age clock when its first event was made durable, in milliseconds.
    var age: UInt64 = 0
    /// When its first event expires, by the age clock in milliseconds.
    private(set) var firstExpires = UInt64.max
    private(set) var bytes: [UInt8] = []
    private(set) var records: [Chunk.Record] = []
    private(set) var contexts: [AcceptContext] = []
    var lost: [Lost] = []
    /// The last event that it may hold.
    private(set) var end = UInt64.max
    /// What is not lost and not to be sent, in order.
    private var settled: [Disposition] = []

    init(limit: Int, expiry: Expiry, buried: Set<UInt64> = []) {
        self.limit = limit
        self.expiry = expiry
        self.buried = buried
    }

    var isEmpty: Bool { records.isEmpty && lost.isEmpty && settled.isEmpty }

    /// All that is not to be sent, in order.
    var disposed: [Disposition] {
        guard !lost.isEmpty else { return settled }
        let all = settled + lost.map { Disposition(.quarantined, $0.sequences) }
        return all.sorted { $0.sequences.lowerBound < $1.sequences.lowerBound }
    }

    /// The events added from now on have this context.
    mutating func note(_ context: AcceptContext) {
        if contexts.last != context { contexts.append(context) }
    }

    /// Adds the event whose record begins at `index` of `source`.
    mutating func append(
        _ source: borrowing [UInt8], at index: Int, length: Int, sequence: UInt64, madeDurableAt start: UInt64
    ) {
        guard buried.isEmpty || !buried.contains(sequence) else { return dispose(of: sequence, as: .dead) }
        let timeToLive = source.loadLittleEndian(at: index + 24, as: UInt32.self)
        guard !expiry.isOver(madeDurableAt: start, timeToLive: timeToLive) else {
            return dispose(of: sequence, as: .expired)
        }
        if records.isEmpty { firstExpires = expiry.end(madeDurableAt: start, timeToLive: timeToLive) }
        if bytes.count >= Self.fewBytes, bytes.capacity < limit {
            bytes.reserveCapacity(limit + Self.fewBytes)
            records.reserveCapacity(limit / (bytes.count / records.count) + 1)
        }
        let wall = source.loadLittleEndian(at: index + 16, as: Int64.self)
        let start = bytes.count
        let event = index + RecordLayout.headerSize
        bytes.append(source, event..<event + length)
        records.append(
            Chunk.Record(
                sequence: sequence, range: start..<bytes.count,
                acceptedAt: RecordLayout.wallTime(wall),
                context: contexts.count - 1))
    }

    /// Notes an event that is not to be sent.
    mutating func dispose(of sequence: UInt64, as kind: Disposition.Kind) {
        settled.extend(kind, sequence...sequence)
    }

    /// Takes over what another reader found of the lost events up to `end`; what has other ids than events before it is
    /// left to the next chunk.
    mutating func rescue(_ other: ChunkBuilder, of lost: ClosedRange<UInt64>, upTo end: UInt64) {
        guard let first = other.first else { return }
        if let own = records.first, !other.records.isEmpty, other.epoch != epoch {
            guard own.sequence > first else { return cut(behind: first - 1) }
            cut(behind: own.sequence - 1)
        }
        merge(other)
        if end < lost.upperBound { cut(behind: end) }
    }

    /// The first event that is not lost.
    private var first: UInt64? {
        [records.first?.sequence, settled.first?.sequences.lowerBound].compactMap { $0 }.min()
    }

    /// Leaves out what comes behind an event.
    private mutating func cut(behind end: UInt64) {
        self.end = end
        records.removeAll { $0.sequence > end }
        settled = settled.compactMap { each in
            guard each.sequences.lowerBound <= end else { return nil }
            return Disposition(each.kind, each.sequences.lowerBound...min(each.sequences.upperBound, end))
        }
        lost = lost.compactMap { each in
            guard each.sequences.lowerBound <= end else { return nil }
            return each.only(each.sequences.lowerBound...min(each.sequences.upperBound, end))
        }
    }

    private mutating func merge(_ other: ChunkBuilder) {
        if !other.records.isEmpty { epoch = other.epoch }
        let start = bytes.count
        let firstContext = contexts.count
        bytes += other.bytes
        contexts += other.contexts
        for each in other.records {
            records.append(
                Chunk.Record(
                    sequence: each.sequence, range: start + each.range.lowerBound..<start + each.range.upperBound,
                    acceptedAt: each.acceptedAt, context: firstContext + each.context))
        }
        records.sort { $0.sequence < $1.sequence }
        settled = (settled + other.settled).sorted { $0.sequences.lowerBound < $1.sequences.lowerBound }
        let found = (other.records.map(\.sequence) + other.settled.flatMap { Array($0.sequences) }).sorted()
        lost = lost.flatMap { each in
            var rest: [Lost] = []
            var start = each.sequences.lowerBound
            for sequence in found where each.sequences.contains(sequence) {
                if start < sequence { rest.append(each.only(start...sequence - 1)) }
                start = sequence + 1
            }
            if start <= each.sequences.upperBound { rest.append(each.only(start...each.sequences.upperBound)) }
            return rest
        }
    }
}

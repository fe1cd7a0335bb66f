internal import Bytes
internal import Posix

/// How a copy of a segment differs from it, so that events are gone from it and all else stays (rule 4).
///
/// An event's bytes become zeros, its record and its place in the table say that it is a hole; the checksums follow.
/// Damaged bytes stay as they are, but for those of such an event.
struct SegmentRewrite {
    /// The file in which the copy is written, in the folder of its log.
    static let name = "rewrite.new"

    /// Zeros from `range.lowerBound` on, but for `bytes` at their start.
    struct Patch {
        let range: Range<Int>
        let bytes: [UInt8]
    }

    private(set) var patches: [Patch] = []
    /// The events that are holes then, those that were before among them.
    private(set) var holes: Set<EventID> = []
    /// Those of them that were none before.
    private(set) var newHoles: Set<EventID> = []

    private let window: SegmentWindow
    private let segment: UInt64
    private let seal: UInt32
    private var made: UInt32 = 0

    /// Looks for the events in the segment that `window` stands on, `size` bytes long.
    ///
    /// Whatever lies behind `validLength`, if that is known, was never acknowledged and may hold them, too: a commit
    /// that failed leaves there what a later segment has. Where it is not known and the file was another segment
    /// before, what lies behind all that is this one's may be that one's.
    init(
        _ window: SegmentWindow, _ segment: SegmentName, seal: UInt32, size: Int, validLength: Int?,
        events: Set<EventID>
    ) throws(Errno) {
        self.window = window
        self.segment = segment.id
        self.seal = seal
        let end = min(size, validLength ?? size)
        let ownHeader = try SegmentScan.header(window, segment: segment.id)
        // Where header and batches are damaged, what is looked for says which epoch it has.
        let sought = Set(events.map(\.epoch)).sorted()
        var epochs = ownHeader.map { [$0.epoch] } ?? []
        var walk = BatchWalk(
            window, segment: segment.id, seal: seal, from: Block.least, to: end,
            expecting: BatchPlace(number: 0, sequence: segment.first))
        var lastEnd = ownHeader?.block ?? Block.least
        while let found = try walk.next() {
            let header = found.header
            epochs = epochs.prefix(1) + [header.epoch]
            lastEnd = found.end
            if header.first > found.expected.sequence {
                try makeHoles(
                    of: events,
                    in: RecordSearch(
                        window, segment: segment.id, in: found.skippedFrom..<found.offset, expecting: found.expected,
                        before: header.number, through: header.first - 1, epochs: epochs + sought))
            }
            let wanted = events.filter {
                $0.epoch == header.epoch && $0.sequence >= header.first && $0.sequence <= header.last
            }
            if !wanted.isEmpty { try makeHoles(of: Set(wanted.map(\.sequence)), in: found) }
        }
        let ownEnd = try makeHoles(
            of: events,
            in: RecordSearch(
                window, segment: segment.id, behind: lastEnd, size: end, expecting: walk.expected,
                epochs: epochs + sought))
        let tail = (validLength == nil && ownHeader?.isRecycled == true ? ownEnd : end)..<size
        let isTailClean = try window.isZero(tail)
        guard !patches.isEmpty || !isTailClean else { return }
        if !isTailClean { patches.append(Patch(range: tail, bytes: [])) }
        if var header = ownHeader {
            header.holes += made
            if !isTailClean { header.isRecycled = false }
            let bytes = Array(header.encoded.prefix(SegmentHeader.size))
            patches.append(Patch(range: 0..<SegmentHeader.size, bytes: bytes))
        }
        patches.sort { $0.range.lowerBound < $1.range.lowerBound }
    }

    private mutating func makeHoles(of sequences: Set<UInt64>, in found: FoundBatch) throws(Errno) {
        var header = found.header
        var table = try goodTable(of: found)
        let before = made
        var records = RecordWalk(window, header, at: found.offset)
        while true {
            let at = records.offset
            guard let step = try records.next() else { break }
            let sequence: UInt64
            var record: [UInt8]
            switch step {
            case .hole(let found):
                if sequences.contains(found) { holes.insert(EventID(epoch: header.epoch, sequence: found)) }
                continue
            case .record(let found, let index, _):
                sequence = found
                record = Array(window.bytes[index..<index + RecordLayout.headerSize])
            case .damaged(let found, _):
                sequence = found.lowerBound
                guard let table else { continue }
                record = RecordLayout.lostHeader(
                    length: table.loadLittleEndian(at: Self.place(of: sequence, in: header), as: UInt32.self),
                    sequence: sequence)
            }
            guard sequences.contains(sequence) else { continue }
            let length = RecordLayout.makeHole(of: &record, seed: header.recordSeed)
            patches.append(Patch(range: at..<at + RecordLayout.size(ofEvent: length), bytes: record))
            if table != nil {
                let place = Self.place(of: sequence, in: header) + 4
                let mask = table?.loadLittleEndian(at: place, as: UInt32.self) ?? 0
                table?.storeLittleEndian(mask | RecordLayout.hole, at: place)
            }
            note(hole: EventID(epoch: header.epoch, sequence: sequence))
        }
        guard made > before, let table else { return }
        let tableStart = found.offset + header.tableOffset
        patches.append(Patch(range: tableStart..<tableStart + table.count, bytes: table))
        header.tableCRC = CRC32C.of(table.span)
        var head = [UInt8](repeating: 0, count: BatchHeader.size)
        var trailer: [UInt8] = []
        header.encode(over: &head, onto: &trailer, seal: seal)
        patches.append(Patch(range: found.offset..<found.offset + head.count, bytes: head))
        patches.append(Patch(range: found.end - trailer.count..<found.end, bytes: trailer))
    }

    /// Looks for events in what no batch that can be read holds; what is whole becomes a hole.
    ///
    /// Returns where the last record ends that is found, or where the search began.
    @discardableResult
    private mutating func makeHoles(of events: Set<EventID>, in search: RecordSearch) throws(Errno) -> Int {
        var search = search
        var end = search.offset
        while let step = try search.next() {
            switch step {
            case .hole(let sequence):
                end = search.offset
                let id = EventID(epoch: search.epoch, sequence: sequence)
                if events.contains(id) { holes.insert(id) }
            case .record(let sequence, let index, let length):
                end = search.offset
                let id = EventID(epoch: search.epoch, sequence: sequence)
                guard events.contains(id) else { continue }
                var record = Array(window.bytes[index..<index + RecordLayout.headerSize])
                _ = RecordLayout.makeHole(
                    of: &record,
                    seed: RecordLayout.seed(
                        segment: segment, number: search.numbers.lowerBound, epoch: search.epoch))
                let size = RecordLayout.size(ofEvent: length)
                patches.append(Patch(range: search.offset - size..<search.offset, bytes: record))
                note(hole: id)
            case .damaged: continue
            }
        }
        return end
    }

    private mutating func note(hole id: EventID) {
        holes.insert(id)
        newHoles.insert(id)
        made += 1
    }

    private static func place(of sequence: UInt64, in header: BatchHeader) -> Int {
        Int(sequence - header.first) * BatchHeader.tableEntrySize
    }

    /// The batch's length table; nil where it is damaged.
    private func goodTable(of found: FoundBatch) throws(Errno) -> [UInt8]? {
        let start = found.offset + found.header.tableOffset
        let size = BatchHeader.tableEntrySize * found.header.count
        guard try window.load(start..<start + size) == size else { return nil }
        let index = window.index(of: start)
        guard CRC32C.of(window.bytes, in: index..<index + size) == found.header.tableCRC else { return nil }
        return Array(window.bytes[index..<index + size])
    }

    /// Writes the copy.
    func copy(_ source: any StorageFile, size: Int, to target: any StorageFile) throws(Errno) {
        for start in stride(from: 0, to: size, by: SegmentWindow.usualStep) {
            var piece: [UInt8] = []
            let count = min(SegmentWindow.usualStep, size - start)
            guard try source.read(upTo: count, at: start, into: &piece) == count else { throw .io }
            for patch in patches where patch.range.overlaps(start..<start + count) {
                let part = patch.range.clamped(to: start..<start + count)
                let bytes = part.map { place in
                    let index = place - patch.range.lowerBound
                    return index < patch.bytes.count ? patch.bytes[index] : 0
                }
                piece.replaceSubrange(part.lowerBound - start..<part.upperBound - start, with: bytes)
            }
            try target.write(piece, in: 0..<count, at: start)
        }
    }
}

extension RecordLayout {
    /// Makes a record's header that of a hole, of which the event's bytes are zeros; returns the event's length.
    fileprivate static func makeHole(of header: inout [UInt8], seed: UInt32) -> Int {
        let length = Int(header.loadLittleEndian(at: 4, as: UInt32.self))
        header.storeLittleEndian(header.loadLittleEndian(at: 28, as: UInt32.self) | hole, at: 28)
        let whole = header + [UInt8](repeating: 0, count: length)
        header.storeLittleEndian(CRC32C.of(whole, in: 4..<whole.count, seed: seed), at: 0)
        return length
    }

    /// The header of a record of which only the table tells.
    fileprivate static func lostHeader(length: UInt32, sequence: UInt64) -> [UInt8] {
        var header: [UInt8] = []
        header.appendLittleEndian(UInt32(0))
        header.appendLittleEndian(length)
        header.appendLittleEndian(sequence)
        header.appendLittleEndian(noWallTime)
        header.appendZeros(headerSize - header.count)
        return header
    }
}

extension SegmentWindow {
    /// True where a stretch of the file, as far as that goes, holds nothing but zeros.
    fileprivate func isZero(_ range: Range<Int>) throws(Errno) -> Bool {
        for at in stride(from: range.lowerBound, to: range.upperBound, by: step) {
            let count = try load(at..<min(range.upperBound, at + step))
            guard count > 0 else { return true }
            guard bytes.isZero(in: index(of: at)..<index(of: at) + count) else { return false }
        }
        return true
    }
}

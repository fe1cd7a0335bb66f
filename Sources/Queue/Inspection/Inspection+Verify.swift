internal import Gates
internal import Posix

extension Inspection {
    /// Reads every byte of the queue that something stands in and says what is there and what is wrong.
    ///
    /// Beside a daemon at work it is what was there at some moment between start and end.
    ///
    /// `progress` is told of how many of all segments have been read.
    ///
    /// - Throws: `failed` or `forbidden` where a file or folder cannot be opened.
    package func verify(_ progress: (Int, Int) -> Void = { _, _ in }) throws(QueueError) -> Verification {
        let listing = try Listing(self)
        let found = try verify(listing, progress)
        guard found.logs.contains(where: { !$0.missing.isEmpty }) else { return found }
        // A file may have come and gone unseen, or was not told of while others came.
        let again = try Listing(self)
        return again.isStill(listing) ? found : try verify(again, progress, after: found)
    }

    /// What is missing counts where an `earlier` look, if there was one, has missed it, too.
    private func verify(
        _ listing: Listing, _ progress: (Int, Int) -> Void, after earlier: Verification? = nil
    ) throws(QueueError) -> Verification {
        let total = listing.logs.reduce(0) { $0 + listing.segments(of: $1).count }
        var done = 0
        let cursors = listing.cursors
        var result = Verification()
        result.damages = formatDamages + cursors.damages
        result.created = formatDamages.contains { $0.kind != .repaired } ? nil : format.created
        for name in listing.logs {
            let segments = listing.segments(of: name)
            let slots = cursors.slots.filter { $0.log == name }
            var scan = LogVerification(name, segments: segments)
            for index in segments.indices {
                scan.add(try read(segments[index], of: name), at: index)
                done += 1
                progress(done, total)
            }
            let suspects = earlier.map { $0.logs.first { $0.name == name }?.missing ?? RangeSet() }
            result.logs.append(scan.finish(slots, suspects: suspects))
            result.cursors += slots.map { Verification.Cursor($0, last: scan.last) }
        }
        for slot in cursors.slots where !listing.logs.contains(slot.log) {
            result.cursors.append(Verification.Cursor(slot, last: slot.low - 1))
            guard slot.low > 1 else { continue }
            result.damages.append(.missing(of: slot.log, 1...slot.low - 1))
        }
        // Without an event there is no cursor yet.
        if cursors.slots.isEmpty, result.logs.allSatisfy({ $0.sequences == nil }) {
            result.damages.removeAll { $0.kind == .missing && $0.path == CursorFile.path }
        }
        result.damages += consentDamages()
        result.quarantine = quarantine()
        readLetters(&result)
        return result
    }

    /// A file `consent` that is not whole.
    private func consentDamages() -> [Verification.Damage] {
        var bytes: [UInt8] = []
        do throws(Errno) {
            let file = try storage.open(ConsentRecord.path, .readOnly)
            _ = try file.read(upTo: ConsentRecord.size + 1, at: 0, into: &bytes)
        } catch {
            if error == .noEntry { return [] }
        }
        guard case .lost = ConsentRecord.read(bytes, seal: format.identity.seal) else { return [] }
        return [
            Verification.Damage(
                kind: .corrupted, path: ConsentRecord.path, offset: 0, length: bytes.count, sequences: nil)
        ]
    }

    /// The names of all segments, before and after the cursors were read.
    ///
    /// A daemon may drop segments that all cursors have passed, and begin others: what is named before the cursors are
    /// read reaches back far enough for them, what is named afterwards goes on far enough.
    private struct Listing {
        let before: [LogName: [SegmentName]]
        let cursors: Cursors
        let after: [LogName: [SegmentName]]
        let logs: [LogName]

        init(_ inspection: Inspection) throws(QueueError) {
            before = try inspection.segmentsByLog()
            cursors = inspection.cursors()
            after = try inspection.segmentsByLog()
            logs = after.keys.sorted {
                let lanes = [$0, $1].map { LogName.lanes.firstIndex(of: $0) ?? LogName.lanes.count }
                return lanes[0] == lanes[1] ? $0.text < $1.text : lanes[0] < lanes[1]
            }
        }

        func segments(of log: LogName) -> [SegmentName] {
            let later = after[log, default: []]
            return (before[log, default: []].filter { !later.contains($0) } + later).sorted { $0.id < $1.id }
        }

        /// True where nothing has come or gone since another one.
        func isStill(_ other: Listing) -> Bool {
            before == after && other.before == other.after && before == other.before
        }
    }

    /// Reads a segment; nil where it has gone.
    ///
    /// Where damage is seen it is read once more, as a batch may just have been written; what is seen twice counts, and
    /// what is missed only once may be there.
    private func read(_ name: SegmentName, of log: LogName) throws(QueueError) -> SegmentReading? {
        let path = LogState.folder + "/" + log.text + "/" + name.text
        var seen: [RecoveryReport.Damage]?
        while true {
            let reading: SegmentReading
            do throws(Errno) {
                let file = try storage.open(path, .readOnly)
                let size = try file.size()
                window.attach(file, end: size, isTolerant: true)
                defer { window.detach() }
                let header = try SegmentScan.header(window, segment: name.id)
                let scan = try SegmentScan(window, log: log, segment: name, seal: format.identity.seal, size: size)
                // No name comes back: the file that has it now had it all the while, and was no other's.
                _ = try storage.status(of: path)
                let isOwn = name.isBorneOut(
                    by: header, hasBatch: scan.batches > 0, of: log, identity: format.identity)
                let damages = scan.damages.filter { seen?.contains($0) ?? true }
                let unsure = scan.damages.filter { !damages.contains($0) }.compactMap(\.sequences)
                reading = SegmentReading(
                    path: path, size: size, isStray: !isOwn, scan: scan, damages: damages, unsure: unsure)
            } catch {
                if error == .noEntry { return nil }
                throw .failed(.open, path: storage.root + "/" + path, offset: 0, error)
            }
            if seen != nil || reading.damages.isEmpty { return reading }
            seen = reading.damages
        }
    }
}

/// A segment that was read from its first byte to its last.
struct SegmentReading {
    let path: String
    /// Bytes.
    let size: Int
    /// True where it has only the name of a segment.
    let isStray: Bool
    let scan: SegmentScan
    let damages: [RecoveryReport.Damage]
    /// Events that were missed once and not at another time.
    let unsure: [ClosedRange<UInt64>]
}

extension Verification.Cursor {
    fileprivate init(_ slot: CursorSlot, last: UInt64) {
        self.init(
            destination: slot.destination, log: slot.log, low: slot.low, origin: slot.origin, ledger: slot.ledger,
            queued: last + 1 > slot.low ? last + 1 - slot.low : 0)
    }
}

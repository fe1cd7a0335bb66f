internal import Posix

extension Inspection {
    /// Reads every byte of the queue that something stands in and says what is there and what is wrong.
    ///
    /// Beside a daemon at work it is what was there at some moment between start and end.
    ///
    /// - Throws: `failed` or `forbidden` where a file or folder cannot be opened.
    package func verify() throws(QueueError) -> Verification {
        // A daemon may drop segments that all cursors have passed, and begin others: what is named before the cursors
        // are read reaches back far enough for them, what is named afterwards goes on far enough.
        let before = try segmentsByLog()
        let cursors = cursors()
        let after = try segmentsByLog()
        var result = Verification()
        result.damages = formatDamages + cursors.damages
        result.created = formatDamages.contains { $0.kind != .repaired } ? nil : format.created
        for (name, segments) in after {
            let earlier = before.first { $0.log == name }?.segments ?? []
            let all = (earlier.filter { !segments.contains($0) } + segments).sorted { $0.id < $1.id }
            let slots = cursors.slots.filter { $0.log == name }
            var scan = LogVerification(name, segments: all)
            for index in all.indices { scan.add(try read(all[index], of: name), at: index) }
            result.logs.append(scan.finish(slots))
            result.cursors += slots.map { Verification.Cursor($0, last: scan.last) }
        }
        for slot in cursors.slots where !after.contains(where: { $0.log == slot.log }) {
            result.cursors.append(Verification.Cursor(slot, last: slot.low - 1))
            guard slot.low > 1 else { continue }
            result.damages.append(.missing(of: slot.log, 1...slot.low - 1))
        }
        // Without an event there is no cursor yet.
        if cursors.slots.isEmpty, result.logs.allSatisfy({ $0.sequences == nil }) {
            result.damages.removeAll { $0.kind == .missing && $0.path == CursorFile.path }
        }
        result.quarantine = quarantine()
        readLetters(&result)
        return result
    }

    private func segmentsByLog() throws(QueueError) -> [(log: LogName, segments: [SegmentName])] {
        var all: [(log: LogName, segments: [SegmentName])] = []
        for name in try logNames() { all.append((name, try segments(of: name))) }
        return all
    }

    /// Reads a segment; nil where it has gone.
    ///
    /// Where damage is seen it is read once more, as a batch may just have been written; what is seen twice counts.
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
                reading = SegmentReading(path: path, size: size, isStray: !isOwn, scan: scan, damages: damages)
            } catch {
                if error == .noEntry { return nil }
                throw .failed(.open, path: storage.root + "/" + path, offset: 0, error)
            }
            if seen != nil || reading.damages.isEmpty { return reading }
            seen = reading.damages
        }
    }

    private func quarantine() -> (files: Int, bytes: Int) {
        let names = (try? storage.names(in: Quarantine.folder)) ?? []
        let sizes = names.compactMap { try? storage.status(of: Quarantine.folder + "/" + $0).size }
        return (sizes.count, sizes.reduce(0, +))
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
}

extension Verification.Cursor {
    fileprivate init(_ slot: CursorSlot, last: UInt64) {
        self.init(
            destination: slot.destination, log: slot.log, low: slot.low, origin: slot.origin, ledger: slot.ledger,
            queued: last + 1 > slot.low ? last + 1 - slot.low : 0)
    }
}

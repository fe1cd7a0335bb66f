internal import Bytes
internal import Posix

extension Inspection {
    private static let maximumBytes = 16 << 20
    private static let tries = 3

    /// What was found in the file of cursors.
    struct Cursors {
        var slots: [CursorSlot] = []
        var damages: [Verification.Damage] = []
        /// False where a cursor may be there that cannot be read.
        var isWhole: Bool { !damages.contains { $0.kind != .repaired } }
    }

    /// Reads the cursors; anew where damage is seen, as a daemon may be writing.
    func cursors() -> Cursors {
        var found = readCursors()
        for _ in 1..<Self.tries where !found.damages.isEmpty { found = readCursors() }
        return found
    }

    /// The first event of each log that some destination has not settled; none where all are wanted, or a cursor cannot
    /// be read.
    func lows(everything: Bool) -> [LogName: UInt64] {
        guard !everything else { return [:] }
        let found = cursors()
        guard found.isWhole else { return [:] }
        var own: [Queue.CursorKey: UInt64] = [:]
        for slot in found.slots {
            let key = Queue.CursorKey(destination: slot.destination, log: slot.log)
            own[key] = max(own[key] ?? 0, slot.low)
        }
        return Dictionary(own.map { ($0.key.log, $0.value) }, uniquingKeysWith: min)
    }

    /// The events that each destination has counted as quarantined, where there are any.
    package var quarantined: [String: UInt64] {
        var counts: [String: UInt64] = [:]
        for slot in cursors().slots where slot.ledger.quarantined > 0 {
            counts[slot.destination, default: 0] += slot.ledger.quarantined
        }
        return counts
    }

    private func readCursors() -> Cursors {
        var found = Cursors()
        var bytes: [UInt8] = []
        do throws(Errno) {
            let file = try storage.open(CursorFile.path, .readOnly)
            while bytes.count < Self.maximumBytes, try file.read(upTo: 65_536, at: bytes.count, into: &bytes) > 0 {}
        } catch {
            let kind: RecoveryReport.Damage.Kind = error == .noEntry ? .missing : .corrupted
            found.damages.append(damage(kind, bytes.count, 0))
        }
        let pair = 2 * CursorSlot.pageSize
        for index in 0..<bytes.count / pair * CursorSlot.perPair {
            let places = [UInt64(0), 1].map { CursorSlot.offset(of: index, generation: $0) }
            let inUse = places.filter { !bytes.isZero(in: $0..<$0 + CursorSlot.size) }
            let copies = inUse.compactMap { CursorSlot(bytes, at: $0, seal: format.identity.seal) }
            for place in inUse where CursorSlot(bytes, at: place, seal: format.identity.seal) == nil {
                found.damages.append(damage(copies.isEmpty ? .corrupted : .repaired, place, CursorSlot.size))
            }
            if let newest = copies.max(by: { $0.generation < $1.generation }) { found.slots.append(newest) }
        }
        if found.damages.isEmpty, bytes.count % pair != 0 || bytes.count < CursorFile.leastBytes {
            found.damages.append(damage(.missingTail, bytes.count, 0))
        }
        return found
    }

    private func damage(_ kind: RecoveryReport.Damage.Kind, _ offset: Int, _ length: Int) -> Verification.Damage {
        Verification.Damage(kind: kind, path: CursorFile.path, offset: offset, length: length, sequences: nil)
    }
}

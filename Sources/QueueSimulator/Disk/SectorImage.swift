/// A file's bytes as readers see them and as a power cut may leave them, in sectors of 512 bytes.
struct SectorImage {
    /// The unit that a disk writes whole or not at all.
    static let sector = 512

    private struct Write {
        let offset: Int
        let bytes: [UInt8]

        var end: Int { offset + bytes.count }
        var sectors: ClosedRange<Int> { offset / sector...(end - 1) / sector }
    }

    /// What a reader sees.
    private(set) var visible: [UInt8] = []
    private var durable: [UInt8] = []
    /// What was written since the last sync, oldest first; any of it may be on the disk already.
    private var unsynced: [Write] = []
    /// Writes whose sync failed: readers see them, no later sync writes them.
    private var stranded: [Write] = []
    /// What stood in the sectors of the newest sync before it.
    private var beforeLastSync: [Int: [UInt8]] = [:]
    /// Whether a write since the last sync came to nothing.
    private var hasLostWrite = false
    /// Sectors of a confirmed sync that the disk has lost, with what stands there now.
    private var reverted: [Int: [UInt8]] = [:]

    /// Puts bytes at an offset; a gap before them is filled with zeros.
    mutating func write(_ bytes: [UInt8], at offset: Int) {
        guard !bytes.isEmpty else { return }
        grow(to: offset + bytes.count)
        visible.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        unsynced.append(Write(offset: offset, bytes: bytes))
    }

    /// Takes a write that the disk has put into a wrong place: no failing sync and no crash takes it back.
    mutating func misdirect(_ bytes: [UInt8], to offset: Int) {
        write(bytes, at: offset)
        Self.grow(&durable, to: offset + bytes.count)
        durable.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    /// Makes the file at least so long.
    mutating func grow(to count: Int) { Self.grow(&visible, to: count) }

    /// Takes a write that comes to nothing, of which only the length is seen.
    ///
    /// To whoever wrote, the next sync is one like any other: what the sync before it confirmed stays whatever fails
    /// after it.
    mutating func loseWrite(upTo end: Int) {
        grow(to: end)
        hasLostWrite = true
    }

    /// Makes what was written since the last sync durable, and nothing else.
    mutating func synchronise(remembering: Bool) {
        Self.grow(&durable, to: visible.count)
        guard !unsynced.isEmpty || hasLostWrite else { return }
        hasLostWrite = false
        if remembering {
            beforeLastSync = [:]
            for index in unsynced.lazy.flatMap(\.sectors) where beforeLastSync[index] == nil {
                beforeLastSync[index] = Self.load(index, of: durable)
            }
        }
        for write in unsynced {
            durable.replaceSubrange(write.offset..<write.end, with: write.bytes)
            if !stranded.isEmpty { strand(notIn: write.sectors) }
            if !reverted.isEmpty { for index in write.sectors { reverted[index] = nil } }
        }
        unsynced = []
    }

    /// A sync that fails: what it should have written counts as clean from now on (Rebello 2020).
    mutating func failSynchronise(reverting: Bool) {
        stranded += unsynced
        unsynced = []
        hasLostWrite = false
        if reverting { reverted.merge(beforeLastSync) { $1 } }
        beforeLastSync = [:]
    }

    /// Has the disk lose for good what `failSynchronise(reverting:)` reverted.
    mutating func loseReverted() {
        for (index, old) in reverted {
            stranded.insert(Write(offset: index * Self.sector, bytes: Self.load(index, of: durable)), at: 0)
            Self.store(old, in: index, of: &durable)
        }
        reverted = [:]
    }

    /// The power goes: of each sector one of the versions since the last sync stays.
    mutating func crash<Random: RandomNumberGenerator>(_ random: inout Random) {
        if visible.count > durable.count, Bool.random(using: &random) { Self.grow(&durable, to: visible.count) }
        let writes = stranded + unsynced
        for index in Set(writes.lazy.flatMap(\.sectors)).sorted() {
            let versions = writes.filter { $0.sectors.contains(index) }
            let kept = Int.random(in: 0...versions.count, using: &random)
            let start = index * Self.sector
            let sector = start..<max(start, min(start + Self.sector, durable.count))
            guard !sector.isEmpty else { continue }
            for write in versions.prefix(kept) {
                let range = max(sector.lowerBound, write.offset)..<min(sector.upperBound, write.end)
                guard !range.isEmpty else { continue }
                let source = range.lowerBound - write.offset..<range.upperBound - write.offset
                durable.replaceSubrange(range, with: write.bytes[source])
            }
        }
        unsynced = []
        stranded = []
        hasLostWrite = false
        beforeLastSync = [:]
        reverted = [:]
        visible = durable
    }

    /// Changes bytes for good, as a bad disk does.
    mutating func spoil(_ range: Range<Int>, _ change: (UInt8) -> UInt8) {
        for index in range where index < visible.count { visible[index] = change(visible[index]) }
        for index in range where index < durable.count { durable[index] = change(durable[index]) }
    }

    /// True where all that was written is durable.
    var isClean: Bool { unsynced.isEmpty && stranded.isEmpty && reverted.isEmpty }

    /// Takes out of the stranded writes the sectors that a later sync has written whole.
    private mutating func strand(notIn sectors: ClosedRange<Int>) {
        stranded = stranded.flatMap { write -> [Write] in
            guard write.sectors.overlaps(sectors) else { return [write] }
            return write.sectors.filter { !sectors.contains($0) }.map { index in
                let start = max(write.offset, index * Self.sector)
                let end = min(write.end, (index + 1) * Self.sector)
                return Write(offset: start, bytes: Array(write.bytes[start - write.offset..<end - write.offset]))
            }
        }
    }

    private static func grow(_ bytes: inout [UInt8], to count: Int) {
        if bytes.count < count { bytes.append(contentsOf: repeatElement(0, count: count - bytes.count)) }
    }

    private static func load(_ index: Int, of bytes: [UInt8]) -> [UInt8] {
        let start = index * sector
        return start < bytes.count ? Array(bytes[start..<min(start + sector, bytes.count)]) : []
    }

    private static func store(_ version: [UInt8], in index: Int, of bytes: inout [UInt8]) {
        let start = index * sector
        let count = min(version.count, bytes.count - start)
        bytes.replaceSubrange(start..<start + count, with: version[..<count])
    }
}

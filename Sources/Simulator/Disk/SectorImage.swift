/// A file's bytes as readers see them and as a power cut may leave them, in sectors of 512 bytes.
struct SectorImage {
    /// The unit that a disk writes whole or not at all.
    static let sector = 512

    /// What a reader sees.
    private(set) var visible: [UInt8] = []
    private var durable: [UInt8] = []
    /// What was written to each sector since the last sync, oldest first; any of it may be on the disk already.
    private var unsynced: [Int: [[UInt8]]] = [:]
    /// Versions whose sync failed: readers see them, no later sync writes them.
    private var stranded: [Int: [[UInt8]]] = [:]
    /// What stood in the sectors of the newest sync before it.
    private var beforeLastSync: [Int: [UInt8]] = [:]
    /// Sectors of a confirmed sync that the disk has lost, with what stands there now.
    private var reverted: [Int: [UInt8]] = [:]

    /// Puts bytes at an offset; a gap before them is filled with zeros.
    mutating func write(_ bytes: [UInt8], at offset: Int) {
        guard !bytes.isEmpty else { return }
        let end = offset + bytes.count
        if visible.count < end { visible += [UInt8](repeating: 0, count: end - visible.count) }
        visible.replaceSubrange(offset..<end, with: bytes)
        for index in offset / Self.sector...(end - 1) / Self.sector {
            unsynced[index, default: []].append(Self.load(index, of: visible))
        }
    }

    /// Makes what was written since the last sync durable, and nothing else.
    mutating func synchronise() {
        if durable.count < visible.count { durable += [UInt8](repeating: 0, count: visible.count - durable.count) }
        if !unsynced.isEmpty { beforeLastSync = [:] }
        for (index, versions) in unsynced {
            beforeLastSync[index] = Self.load(index, of: durable)
            Self.store(versions[versions.count - 1], in: index, of: &durable)
            stranded[index] = nil
            reverted[index] = nil
        }
        unsynced = [:]
    }

    /// A sync that fails: what it should have written counts as clean from now on (Rebello 2020).
    mutating func failSynchronise(reverting: Bool) {
        for (index, versions) in unsynced { stranded[index, default: []] += versions }
        unsynced = [:]
        if reverting { reverted.merge(beforeLastSync) { $1 } }
        beforeLastSync = [:]
    }

    /// Has the disk lose for good what `failSynchronise(reverting:)` reverted.
    mutating func loseReverted() {
        for (index, old) in reverted {
            stranded[index] = [Self.load(index, of: durable)] + stranded[index, default: []]
            Self.store(old, in: index, of: &durable)
        }
        reverted = [:]
    }

    /// The power goes: of each sector one of the versions since the last sync stays.
    mutating func crash<Random: RandomNumberGenerator>(_ random: inout Random) {
        let isGrown = visible.count > durable.count && Bool.random(using: &random)
        if isGrown { durable += [UInt8](repeating: 0, count: visible.count - durable.count) }
        for index in Set(unsynced.keys).union(stranded.keys).sorted() {
            let versions = stranded[index, default: []] + unsynced[index, default: []]
            let kept = Int.random(in: 0...versions.count, using: &random)
            guard kept > 0, index * Self.sector < durable.count else { continue }
            Self.store(versions[kept - 1], in: index, of: &durable)
        }
        unsynced = [:]
        stranded = [:]
        beforeLastSync = [:]
        reverted = [:]
        visible = durable
    }

    /// Changes bytes for good, as a bad disk does; true where anything is different now.
    mutating func spoil(_ range: Range<Int>, _ change: (UInt8) -> UInt8) {
        for index in range where index < visible.count { visible[index] = change(visible[index]) }
        for index in range where index < durable.count { durable[index] = change(durable[index]) }
    }

    /// True where all that was written is durable.
    var isClean: Bool { unsynced.isEmpty && stranded.isEmpty && reverted.isEmpty }

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

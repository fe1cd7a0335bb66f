internal import Bytes
internal import Posix
internal import Queue

extension SimulatedDisk {
    func read(_ node: Node, upTo count: Int, at offset: Int, into buffer: inout [UInt8], life: Int) throws(Errno) -> Int
    {
        guard !hasCrashed, life == self.life else { throw .io }
        if failingReads > 0 {
            failingReads -= 1
            throw .io
        }
        let size = node.image.visible.count
        var range = min(offset, size)..<min(offset + count, size)
        if !node.badSectors.isEmpty, !range.isEmpty {
            // As the page cache does: what comes before the bad sector, then the error.
            let sectors = range.lowerBound / SectorImage.sector...(range.upperBound - 1) / SectorImage.sector
            if let bad = sectors.first(where: node.badSectors.contains) {
                guard bad * SectorImage.sector > range.lowerBound else { throw .io }
                range = range.lowerBound..<bad * SectorImage.sector
            }
        }
        buffer += node.image.visible[range]
        return range.count
    }

    func write(_ bytes: [UInt8], to node: Node, at offset: Int, life: Int) throws(Errno) {
        guard life == self.life else { throw .io }
        try step()
        let growth = node.growth(through: offset..<offset + bytes.count)
        let isFull = growth > 0 && usedBytes + growth > capacity
        guard failingWrites > 0 || isFull else {
            node.fill(offset..<offset + bytes.count)
            return put(bytes, in: node, at: offset)
        }
        if failingWrites > 0 { failingWrites -= 1 }
        let part = Array(bytes.prefix(Int.random(in: 0..<max(1, bytes.count), using: &random)))
        node.fill(offset..<offset + part.count)
        node.image.write(part, at: offset)
        throw isFull ? .noSpace : errno
    }

    private func put(_ bytes: [UInt8], in node: Node, at offset: Int) {
        guard let mishap, node.mayFail, !node.isInjured, !bytes.isEmpty else {
            if !node.badSectors.isEmpty {
                let sectors = offset / SectorImage.sector...(offset + bytes.count - 1) / SectorImage.sector
                node.badSectors = node.badSectors.filter { !sectors.contains($0) }
            }
            return node.image.write(bytes, at: offset)
        }
        self.mishap = nil
        node.isInjured = true
        node.image.loseWrite(upTo: offset + bytes.count)
        var hit: Misdone.Hit?
        if mishap == .misdirected {
            let last = (node.image.visible.count - bytes.count) / SectorImage.sector
            let place = Int.random(in: 0...max(0, last), using: &random) * SectorImage.sector
            hit = Misdone.Hit(contents: node.image.visible, range: place..<place + bytes.count)
            node.image.misdirect(bytes, to: place)
        }
        misdone.append(Misdone(path: path(of: node), written: bytes, hit: hit))
    }

    func synchronise(_ node: Node, life: Int) throws(Errno) {
        guard life == self.life else { throw .io }
        try step()
        guard !ignoresSyncs else { return }
        guard failingSyncs == 0 || syncsBeforeFailing > 0 else {
            failingSyncs -= 1
            node.image.failSynchronise(reverting: node.mayFail && Bool.random(using: &random))
            throw errno
        }
        node.image.synchronise(remembering: node.mayFail)
        syncsBeforeFailing = max(0, syncsBeforeFailing - 1)
        syncs += 1
    }

    func allocate(_ size: Int, of node: Node, life: Int) throws(Errno) {
        guard life == self.life else { throw .io }
        try step()
        if failingWrites > 0 {
            failingWrites -= 1
            throw errno
        }
        guard usedBytes + max(0, size - node.image.visible.count) <= capacity else { throw .noSpace }
        node.image.grow(to: size)
    }

    func release(_ range: Range<Int>, of node: Node, life: Int) throws(Errno) {
        guard life == self.life else { throw .io }
        try step()
        node.image.write([UInt8](repeating: 0, count: range.count), at: range.lowerBound)
        node.release(range)
    }

    func size(of node: Node, life: Int) throws(Errno) -> Int {
        guard !hasCrashed, life == self.life else { throw .io }
        return node.image.visible.count
    }

    func lock(_ node: Node, life: Int) throws(Errno) -> Bool {
        guard !hasCrashed, life == self.life else { throw .io }
        guard node.lockedBy == nil else { return false }
        node.lockedBy = life
        return true
    }

    func unlock(_ node: Node, life: Int) {
        if node.lockedBy == life { node.lockedBy = nil }
    }
}

/// An open file of a `SimulatedDisk`; of no use once the process that opened it has ended.
final class SimulatedFile: StorageFile {
    private let disk: SimulatedDisk
    private let node: SimulatedDisk.Node
    private let life: Int
    private var holdsLock = false

    init(_ disk: SimulatedDisk, _ node: SimulatedDisk.Node, life: Int) {
        self.disk = disk
        self.node = node
        self.life = life
    }

    deinit { if holdsLock { disk.unlock(node, life: life) } }

    func read(upTo count: Int, at offset: Int, into buffer: inout [UInt8]) throws(Errno) -> Int {
        try disk.read(node, upTo: count, at: offset, into: &buffer, life: life)
    }

    func write(_ bytes: borrowing [UInt8], in range: Range<Int>, at offset: Int) throws(Errno) {
        try disk.write(Array(bytes[range]), to: node, at: offset, life: life)
    }

    func synchroniseData() throws(Errno) { try disk.synchronise(node, life: life) }

    func allocate(_ size: Int) throws(Errno) { try disk.allocate(size, of: node, life: life) }

    func release(_ range: Range<Int>) throws(Errno) { try disk.release(range, of: node, life: life) }

    func size() throws(Errno) -> Int { try disk.size(of: node, life: life) }

    func tryLock() throws(Errno) -> Bool {
        holdsLock = try disk.lock(node, life: life)
        return holdsLock
    }
}

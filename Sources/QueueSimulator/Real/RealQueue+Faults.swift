internal import Bytes
internal import Posix
internal import Queue

extension RealQueue {
    /// What cannot be read because of one bad sector, bytes.
    private static let page = 4_096
    /// About what a batch's header takes, bytes.
    private static let batchHeader = 64

    func inject(_ fault: InjectedFault) -> Bool {
        switch fault {
        case .failingSyncs:
            disk.errno = errno
            disk.failingSyncs = Int.random(in: 1...3, using: &random)
            owing = Set(Self.logNames.indices.filter { accepted($0) > 0 })
        case .failingWrites:
            disk.errno = errno
            disk.failingWrites = Int.random(in: 1...2, using: &random)
        case .failingReads: disk.failingReads = Int.random(in: 1...3, using: &random)
        case .fullDisk:
            let isFull = disk.capacity < 1 << 40
            disk.capacity = isFull ? 1 << 40 : disk.usedBytes + Int.random(in: 0..<16, using: &random) * 1_024
        case .flippedByte: return flip()
        case .unreadableSector: return makeUnreadable()
        case .lostWrite: disk.mishap = .lost
        case .misdirectedWrite: disk.mishap = .misdirected
        case .damagedCursors: return damageCursors()
        }
        return true
    }

    private var errno: Errno { Bool.random(using: &random) ? .io : .noSpace }

    /// A segment without a fault, and how far it was written.
    private func chooseSegment() -> (path: String, log: Int, contents: [UInt8], used: Int)? {
        let paths = disk.files.filter { $0.hasSuffix(".segment") && !disk.isInjured($0) && disk.isClean($0) }
        guard let path = paths.randomElement(using: &random), let log = log(of: path) else { return nil }
        let contents = disk.contents(of: path)
        return (path, log, contents, (contents.lastIndex { $0 != 0 } ?? 0) + 1)
    }

    private func flip() -> Bool {
        guard let (path, log, contents, used) = chooseSegment() else { return false }
        var offset = Int.random(in: 0..<used, using: &random)
        // Most of a block is not its header, on which more hangs.
        if Bool.random(using: &random) { offset -= offset % SectorImage.sector - offset % Self.batchHeader }
        disk.flip(path, at: offset, mask: UInt8(1) << UInt8.random(in: 0...7, using: &random))
        injuries.append(Injury(log, [(contents, offset..<offset + 1)]))
        return true
    }

    /// Makes a page unreadable that nothing will be written to any more.
    private func makeUnreadable() -> Bool {
        guard let (path, log, contents, used) = chooseSegment(), used >= Self.page else { return false }
        let page = Int.random(in: 0..<used / Self.page, using: &random) * Self.page
        disk.makeUnreadable(path, at: page + Int.random(in: 0..<Self.page, using: &random))
        injuries.append(Injury(log, [(contents, page..<page + Self.page)]))
        return true
    }

    /// The log that a file belongs to.
    private func log(of path: String) -> Int? {
        let folder = path.split(separator: "/").dropFirst().first
        return Self.logNames.firstIndex { $0.text == folder ?? "" }
    }

    private func damageCursors() -> Bool {
        let path = "cursors"
        guard disk.isClean(path) else { return false }
        let contents = disk.contents(of: path)
        let slots = (0..<contents.count / 512).filter { contents[$0 * 512..<$0 * 512 + 4].contains { $0 != 0 } }
        guard let slot = slots.randomElement(using: &random) else { return false }
        // The other copy stands in the other page of the pair.
        let copies = Bool.random(using: &random) ? [slot] : [slot, slot ^ 8]
        for copy in copies where copy * 512 < contents.count {
            disk.flip(path, at: copy * 512 + Int.random(in: 0..<160, using: &random), mask: 1)
        }
        return true
    }

    func takeInjuries() -> [Injury] {
        for done in disk.misdone {
            guard let log = log(of: done.path) else { continue }
            var stretches = [(contents: done.written, range: done.written.indices)]
            if let hit = done.hit { stretches.append((hit.contents, hit.range)) }
            injuries.append(Injury(log, stretches))
        }
        disk.misdone = []
        defer { injuries = [] }
        return injuries
    }
}

extension Injury {
    /// What it may cost that parts of what files held are gone.
    fileprivate init(_ log: Int, _ stretches: [(contents: [UInt8], range: Range<Int>)]) {
        self.init(log: log, most: 0)
        for (contents, range) in stretches { EventBytes.collect(&self, in: contents, range) }
    }
}

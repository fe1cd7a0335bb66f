internal import Bytes

enum DiskError: Error {
    /// The machine or the process is gone; nothing after this call happened.
    case crash
    /// EIO or ENOSPC.
    case failed
}

enum FileName: Hashable {
    case segment(log: Int, id: Int, first: Int)
    case cursors
    case counters
    case letters(Int)
    case temporary(Int)
}

/// Files as lists of cells, names as a list of changes; what was not synced is lost in part by a power cut.
final class ModelDisk {
    struct Write {
        let position: Int
        let cell: Cell
        let before: Cell
    }

    struct File {
        /// What a reader sees.
        var visible: [Cell] = []
        var durable: [Cell] = []
        var pending: [Write] = []
        /// Writes whose sync failed: seen by readers, never written by a later sync.
        var limbo: [Write] = []
        var lastSynced: [Write] = []
        /// Writes that a sync confirmed and that were then lost with the journal (wal.md, 4.4).
        var reverted: [Write] = []
        /// The log whose fresh segment it is.
        let log: Int?
    }

    private enum Change {
        case link(FileName, Int)
        case rename(FileName, FileName, Int)
        case unlink(FileName)
    }

    private(set) var files: [Int: File] = [:]
    private(set) var names: [FileName: Int] = [:]
    private var durableNames: [FileName: Int] = [:]
    private var changes: [Change] = []
    private var nextFile = 0
    private var random: SplitMix64

    /// Calls that changed something so far.
    private(set) var steps = 0
    /// The step that does not happen any more.
    var crashStep: Int?
    var failingSyncs = 0
    var failingWrites = 0
    /// Whether an error was ever injected.
    private(set) var hasFailed = false

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// All names, in an order that only the seed decides.
    var listing: [(name: FileName, file: Int)] {
        names.map { (name: $0.key, file: $0.value) }.sorted { $0.file < $1.file }
    }

    func cells(_ file: Int) -> [Cell] { files[file]?.visible ?? [] }

    func create(log: Int? = nil) throws(DiskError) -> Int {
        try step()
        nextFile += 1
        files[nextFile] = File(log: log)
        return nextFile
    }

    func write(_ cell: Cell, to file: Int, at position: Int) throws(DiskError) {
        try step()
        let fails = failingWrites > 0
        if fails {
            failingWrites -= 1
            hasFailed = true
            guard Bool.random(using: &random) else { throw .failed }
        }
        change(file) { file in
            file.grow(to: position + 1)
            file.pending.append(Write(position: position, cell: cell, before: file.visible[position]))
            file.visible[position] = cell
        }
        if fails { throw .failed }
    }

    func append(_ cells: [Cell], to file: Int) throws(DiskError) {
        for cell in cells { try write(cell, to: file, at: self.cells(file).count) }
    }

    func synchronise(_ file: Int) throws(DiskError) {
        try step()
        if failingSyncs > 0 {
            failingSyncs -= 1
            hasFailed = true
            let reverts = Bool.random(using: &random)
            change(file) { $0.failSync(reverting: reverts) }
            throw .failed
        }
        change(file) { $0.sync() }
    }

    func link(_ name: FileName, to file: Int) throws(DiskError) {
        try step()
        names[name] = file
        changes.append(.link(name, file))
    }

    func rename(_ old: FileName, to new: FileName) throws(DiskError) {
        try step()
        guard let file = names.removeValue(forKey: old) else { preconditionFailure("rename of no file") }
        names[new] = file
        changes.append(.rename(old, new, file))
    }

    func unlink(_ name: FileName) throws(DiskError) {
        try step()
        names[name] = nil
        changes.append(.unlink(name))
    }

    /// Makes names durable; a log that has moved to a new segment has no claim any more on what an old one reverted.
    func synchroniseNames() throws(DiskError) {
        try step()
        changes.forEach(apply)
        for case .link(_, let file) in changes {
            guard let log = files[file]?.log else { continue }
            for other in files.keys where other != file && files[other]?.log == log {
                change(other) { $0.giveUpReverted() }
            }
        }
        changes = []
    }

    private func step() throws(DiskError) {
        if steps == crashStep { throw .crash }
        steps += 1
    }

    private func change(_ file: Int, _ body: (inout File) -> Void) {
        guard var content = files.removeValue(forKey: file) else { preconditionFailure("no such file") }
        body(&content)
        files[file] = content
    }

    private func apply(_ change: Change) {
        switch change {
        case .link(let name, let file): durableNames[name] = file
        case .rename(let old, let new, let file):
            durableNames[old] = nil
            durableNames[new] = file
        case .unlink(let name): durableNames[name] = nil
        }
    }
}

extension ModelDisk {
    /// What the next start finds after the process died: all that was written, and no word of failed syncs.
    ///
    /// Confirmed writes are lost only with a file system that shuts down, which the next start would not find mounted.
    func keepUnsynced() {
        for file in files.keys { change(file) { $0.reverted = [] } }
    }

    /// What the next start finds after the power went: a random part of all that was not synced.
    func loseUnsynced() {
        for change in changes where Bool.random(using: &random) { apply(change) }
        changes = []
        names = durableNames
        for file in files.keys.sorted() {
            change(file) { $0.crash(&random) }
        }
        let reachable = Set(names.values)
        files = files.filter { reachable.contains($0.key) }
    }

    /// Spoils a cell for good.
    func damage(_ file: Int, at position: Int, length: Int) {
        change(file) { file in
            file.visible[position] = .damaged(length: length)
            file.durable[position] = .damaged(length: length)
        }
    }

    /// Calms the disk: no crash, no error.
    func heal() {
        crashStep = nil
        failingSyncs = 0
        failingWrites = 0
    }
}

extension ModelDisk.File {
    mutating func grow(to count: Int) {
        while visible.count < count {
            visible.append(.zero)
            durable.append(.zero)
        }
    }

    mutating func sync() {
        for write in pending { durable[write.position] = write.cell }
        if !pending.isEmpty { lastSynced = pending }
        pending = []
    }

    mutating func failSync(reverting: Bool) {
        limbo += pending
        pending = []
        guard reverting, log != nil, reverted.isEmpty else { return }
        reverted = lastSynced
    }

    /// From now on the reverted writes are really gone.
    mutating func giveUpReverted() {
        for write in reverted where durable[write.position] == write.cell { durable[write.position] = write.before }
        limbo = reverted + limbo
        reverted = []
    }

    mutating func crash(_ random: inout SplitMix64) {
        for write in limbo + pending {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5: durable[write.position] = write.cell
            case 5, 6: durable[write.position] = .damaged(length: Int.random(in: 0..<12, using: &random))
            default: break
            }
        }
        limbo = []
        pending = []
        lastSynced = []
        reverted = []
        visible = durable
    }
}

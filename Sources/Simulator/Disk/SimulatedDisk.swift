internal import Bytes
package import Posix
package import Queue

/// A disk in memory that follows Linux's rules of durability to the letter and, by its seed, uses all they allow.
///
/// What was not synced is lost in random parts at a power cut: data by sectors of 512 bytes, names by a prefix of the
/// changes of each directory. Calls after the crash have no effect and fail, so that a machine under test runs into a
/// wall; `restart` then gives the disk to the next.
package final class SimulatedDisk: Storage {
    /// What the next start finds.
    package enum End: Sendable {
        /// The process died; what it wrote is in the page cache.
        case kill
        case powerCut
    }

    package let root = "/simulated"
    package let physicalBlock: Int
    package let user: UInt32 = 1_000

    /// Bytes that files may take; a write beyond fails with ENOSPC.
    package var capacity = 1 << 40
    /// The number of the changing call that is the last to have an effect.
    package var crashStep: Int?
    /// How many of the next syncs of files fail.
    package var failingSyncs = 0
    /// How many of the next writes fail, part of them done.
    package var failingWrites = 0
    /// How they fail.
    package var errno = Errno.io
    /// Files whose path begins so may lose, with a sync that fails, what the sync before had confirmed.
    ///
    /// Seen on ext4 and XFS when the file system shuts down.
    package var revertsIn: String?
    /// A disk that lies: its syncs do nothing; for control runs.
    package var ignoresSyncs = false
    /// Changing calls so far.
    package private(set) var steps = 0
    /// True from the crash to the restart.
    package private(set) var hasCrashed = false
    /// Syncs of files that succeeded.
    package private(set) var syncs = 0

    private var nodes: [String: Node] = [:]
    private var durableNodes: [String: Node] = [:]
    private var changes: [String: [Change]] = [:]
    private var random: SplitMix64
    /// How many processes have had the disk.
    private var life = 0

    /// A file, or a directory where it has no image.
    final class Node {
        var image = SectorImage()
        let isDirectory: Bool
        /// Whether a failing sync may take back the one before.
        let mayRevert: Bool
        var lockedBy: Int?

        init(isDirectory: Bool, mayRevert: Bool = false) {
            self.isDirectory = isDirectory
            self.mayRevert = mayRevert
        }
    }

    private enum Change {
        case link(String, Node)
        case rename(String, String, Node)
        case unlink(String)
    }

    package init(seed: UInt64, physicalBlock: Int = 4_096) {
        random = SplitMix64(seed: seed)
        self.physicalBlock = physicalBlock
    }

    package func open(_ path: String, _ mode: StorageMode) throws(Errno) -> any StorageFile {
        guard !hasCrashed else { throw .io }
        if let node = nodes[path] {
            guard mode != .createNew else { throw .exists }
            guard !node.isDirectory else { throw .invalid }
            return SimulatedFile(self, node, life: life)
        }
        guard mode == .create || mode == .createNew else { throw .noEntry }
        try requireFolder(of: path)
        try step()
        let node = Node(isDirectory: false, mayRevert: revertsIn.map { path.hasPrefix($0) } ?? false)
        link(path, to: node)
        return SimulatedFile(self, node, life: life)
    }

    package func status(of path: String) throws(Errno) -> StorageStatus {
        guard !hasCrashed else { throw .io }
        if path.isEmpty { return StorageStatus(kind: .directory, size: 4_096, owner: user) }
        guard let node = nodes[path] else { throw .noEntry }
        if node.isDirectory { return StorageStatus(kind: .directory, size: 4_096, owner: user) }
        return StorageStatus(kind: .regular, size: node.image.visible.count, owner: user)
    }

    package func createDirectory(_ path: String) throws(Errno) {
        guard nodes[path] == nil else { throw .exists }
        try requireFolder(of: path)
        try step()
        link(path, to: Node(isDirectory: true))
    }

    package func names(in path: String) throws(Errno) -> [String] {
        guard !hasCrashed else { throw .io }
        guard path.isEmpty || nodes[path]?.isDirectory == true else { throw .noEntry }
        let start = path.isEmpty ? 0 : path.utf8.count + 1
        let names = nodes.keys.filter { Self.folder(of: $0) == path }.map { String($0.dropFirst(start)) }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    package func rename(_ from: String, to: String) throws(Errno) {
        precondition(Self.folder(of: from) == Self.folder(of: to), "a rename across directories is not simulated")
        guard let node = nodes[from] else { throw .noEntry }
        try step()
        nodes[from] = nil
        nodes[to] = node
        changes[Self.folder(of: to), default: []].append(.rename(from, to, node))
    }

    package func unlink(_ path: String) throws(Errno) {
        guard nodes[path] != nil else { throw .noEntry }
        try step()
        nodes[path] = nil
        changes[Self.folder(of: path), default: []].append(.unlink(path))
    }

    package func synchroniseDirectory(_ path: String) throws(Errno) {
        try step()
        guard !ignoresSyncs else { return }
        for change in changes.removeValue(forKey: path) ?? [] { apply(change) }
    }

    package func space() throws(Errno) -> StorageSpace {
        guard !hasCrashed else { throw .io }
        return StorageSpace(total: UInt64(capacity), available: UInt64(max(0, capacity - usedBytes)))
    }

    /// Bytes of all files that have a name.
    package var usedBytes: Int { nodes.values.reduce(0) { $0 + $1.image.visible.count } }

    private func requireFolder(of path: String) throws(Errno) {
        let folder = Self.folder(of: path)
        guard folder.isEmpty || nodes[folder]?.isDirectory == true else { throw .noEntry }
    }

    private func link(_ path: String, to node: Node) {
        nodes[path] = node
        changes[Self.folder(of: path), default: []].append(.link(path, node))
    }

    private func apply(_ change: Change) {
        switch change {
        case .link(let path, let node): durableNodes[path] = node
        case .rename(let from, let to, let node):
            durableNodes[from] = nil
            durableNodes[to] = node
        case .unlink(let path): durableNodes[path] = nil
        }
    }

    private func step() throws(Errno) {
        if !hasCrashed, steps == crashStep { hasCrashed = true }
        guard !hasCrashed else { throw .io }
        steps += 1
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }
}

extension SimulatedDisk {
    /// Ends the process that has the disk and heals what was failing; the next one finds what `end` leaves.
    package func restart(after end: End) {
        if end == .powerCut { loseUnsynced() }
        for node in nodes.values { node.lockedBy = nil }
        hasCrashed = false
        crashStep = nil
        failingSyncs = 0
        failingWrites = 0
        life += 1
    }

    private func loseUnsynced() {
        for folder in changes.keys.sorted() {
            let all = changes[folder] ?? []
            for change in all.prefix(Int.random(in: 0...all.count, using: &random)) { apply(change) }
        }
        changes = [:]
        nodes = durableNodes.filter { name, _ in hasFolders(name) }
        durableNodes = nodes
        var done = Set<ObjectIdentifier>()
        for path in nodes.keys.sorted() {
            guard let node = nodes[path], done.insert(ObjectIdentifier(node)).inserted else { continue }
            node.image.crash(&random)
        }
    }

    private func hasFolders(_ path: String) -> Bool {
        let folder = Self.folder(of: path)
        return folder.isEmpty || (durableNodes[folder]?.isDirectory == true && hasFolders(folder))
    }

    /// Loses for good what failing syncs took back.
    ///
    /// To be called once the machine under test has made good on it.
    package func loseReverted() {
        for node in nodes.values { node.image.loseReverted() }
    }

    /// The files, sorted by path.
    package var files: [String] { nodes.filter { !$0.value.isDirectory }.keys.sorted() }

    /// What a file holds; empty where there is none.
    package func contents(of path: String) -> [UInt8] { nodes[path]?.image.visible ?? [] }

    /// True where all that was written to a file is durable.
    package func isClean(_ path: String) -> Bool { nodes[path]?.image.isClean ?? true }

    /// Turns bits of a byte over, for good.
    package func flip(_ path: String, at offset: Int, mask: UInt8) {
        nodes[path]?.image.spoil(offset..<offset + 1) { $0 ^ mask }
    }

    /// Fills a range with zeros, for good: a write that never came.
    package func erase(_ path: String, _ range: Range<Int>) {
        nodes[path]?.image.spoil(range) { _ in 0 }
    }
}

extension SimulatedDisk {
    func read(_ node: Node, upTo count: Int, at offset: Int, into buffer: inout [UInt8], life: Int) throws(Errno) -> Int
    {
        guard !hasCrashed, life == self.life else { throw .io }
        let size = node.image.visible.count
        let range = min(offset, size)..<min(offset + count, size)
        buffer += node.image.visible[range]
        return range.count
    }

    func write(_ bytes: [UInt8], to node: Node, at offset: Int, life: Int) throws(Errno) {
        guard life == self.life else { throw .io }
        try step()
        let growth = max(0, offset + bytes.count - node.image.visible.count)
        let isFull = growth > 0 && usedBytes + growth > capacity
        guard failingWrites > 0 || isFull else { return node.image.write(bytes, at: offset) }
        if failingWrites > 0 { failingWrites -= 1 }
        node.image.write(Array(bytes.prefix(Int.random(in: 0..<max(1, bytes.count), using: &random))), at: offset)
        throw isFull ? .noSpace : errno
    }

    func synchronise(_ node: Node, life: Int) throws(Errno) {
        guard life == self.life else { throw .io }
        try step()
        guard !ignoresSyncs else { return }
        guard failingSyncs == 0 else {
            failingSyncs -= 1
            node.image.failSynchronise(reverting: node.mayRevert && Bool.random(using: &random))
            throw errno
        }
        node.image.synchronise()
        syncs += 1
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
private final class SimulatedFile: StorageFile {
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

    func size() throws(Errno) -> Int { try disk.size(of: node, life: life) }

    func tryLock() throws(Errno) -> Bool {
        holdsLock = try disk.lock(node, life: life)
        return holdsLock
    }
}

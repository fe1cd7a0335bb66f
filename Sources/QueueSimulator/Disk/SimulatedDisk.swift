internal import Bytes
package import Posix
package import Queue
internal import Time

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
    /// How many succeed before them.
    package var syncsBeforeFailing = 0
    /// How many of the next writes fail, part of them done.
    package var failingWrites = 0
    /// How many of the next reads fail, with EIO.
    package var failingReads = 0
    /// What the next write to a file without a fault does instead of what it says; it is reported done.
    var mishap: Mishap?
    /// What mishaps have done since it was last taken.
    var misdone: [Misdone] = []
    /// How long a call may take in virtual time.
    package var latency: ClosedRange<Duration>?
    /// Virtual time that calls have taken since it was last taken.
    package private(set) var elapsed = Duration.zero
    /// How they fail.
    package var errno = Errno.io
    /// Files whose path begins so may lose, with a sync that fails, what the sync before had confirmed (seen on ext4
    /// and XFS when the file system shuts down), and have mishaps.
    package var faultsIn: String?
    /// A disk that lies: its syncs do nothing; for control runs.
    package var ignoresSyncs = false
    /// Changing calls so far.
    package private(set) var steps = 0
    /// True from the crash to the restart.
    package internal(set) var hasCrashed = false
    /// Syncs of files that succeeded.
    package internal(set) var syncs = 0

    var nodes: [String: Node] = [:]
    var durableNodes: [String: Node] = [:]
    var changes: [String: [Change]] = [:]
    var random: SplitMix64
    /// How many processes have had the disk.
    var life = 0

    /// A write that is reported done and is not where it should be.
    enum Mishap { case lost, misdirected }

    /// A write that came to nothing, and what stood where it landed.
    struct Misdone {
        let path: String
        let written: [UInt8]
        let hit: Hit?

        /// What a file held, and which part of it was written over.
        struct Hit {
            let contents: [UInt8]
            let range: Range<Int>
        }
    }

    /// A file, or a directory where it has no image.
    final class Node {
        var image = SectorImage()
        let isDirectory: Bool
        /// Whether a failing sync may take back the one before, and writes may get lost.
        let mayFail: Bool
        /// Whether it has a fault of its own already.
        var isInjured = false
        /// Sectors that cannot be read.
        var badSectors: Set<Int> = []
        var lockedBy: Int?
        /// Pages of 4,096 bytes that were given back.
        private var holes: Set<Int> = []

        init(isDirectory: Bool, mayFail: Bool = false) {
            self.isDirectory = isDirectory
            self.mayFail = mayFail
        }

        /// Bytes on disk.
        var allocated: Int { image.visible.count - holes.count * 4_096 }

        /// What a write takes that the file did not have, bytes.
        func growth(through range: Range<Int>) -> Int {
            max(0, range.upperBound - image.visible.count) + holes.count { Self.touches($0, range) } * 4_096
        }

        func release(_ range: Range<Int>) {
            let first = roundedUp(range.lowerBound, to: 4_096) / 4_096
            holes.formUnion(first..<max(first, range.upperBound / 4_096))
        }

        func fill(_ range: Range<Int>) { holes = holes.filter { !Self.touches($0, range) } }

        /// After a power cut whatever is to be seen takes room.
        func forgetHoles() { holes = [] }

        private static func touches(_ page: Int, _ range: Range<Int>) -> Bool {
            !range.isEmpty && page >= range.lowerBound / 4_096 && page <= (range.upperBound - 1) / 4_096
        }
    }

    enum Change {
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
        let node = Node(isDirectory: false, mayFail: faultsIn.map { path.hasPrefix($0) } ?? false)
        link(path, to: node)
        return SimulatedFile(self, node, life: life)
    }

    package func status(of path: String) throws(Errno) -> StorageStatus {
        guard !hasCrashed else { throw .io }
        if path.isEmpty { return StorageStatus(kind: .directory, size: 4_096, owner: user) }
        guard let node = nodes[path] else { throw .noEntry }
        if node.isDirectory { return StorageStatus(kind: .directory, size: 4_096, owner: user) }
        return StorageStatus(
            kind: .regular, size: node.image.visible.count, allocated: node.allocated, owner: user)
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
        let start = path.isEmpty ? "" : path + "/"
        let names = nodes.keys.compactMap { each -> String? in
            guard each.utf8.starts(with: start.utf8) else { return nil }
            let name = each.utf8.dropFirst(start.utf8.count)
            return name.contains(UInt8(ascii: "/")) ? nil : String(name)
        }
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
    package var usedBytes: Int { nodes.values.reduce(0) { $0 + $1.allocated } }

    private func requireFolder(of path: String) throws(Errno) {
        let folder = Self.folder(of: path)
        guard folder.isEmpty || nodes[folder]?.isDirectory == true else { throw .noEntry }
    }

    private func link(_ path: String, to node: Node) {
        nodes[path] = node
        changes[Self.folder(of: path), default: []].append(.link(path, node))
    }

    func apply(_ change: Change) {
        switch change {
        case .link(let path, let node): durableNodes[path] = node
        case .rename(let from, let to, let node):
            durableNodes[from] = nil
            durableNodes[to] = node
        case .unlink(let path): durableNodes[path] = nil
        }
    }

    func step() throws(Errno) {
        if !hasCrashed, steps == crashStep { hasCrashed = true }
        guard !hasCrashed else { throw .io }
        steps += 1
        guard let latency else { return }
        let bounds = latency.lowerBound.nanoseconds...latency.upperBound.nanoseconds
        elapsed += .nanoseconds(Int64.random(in: bounds, using: &random))
    }

    /// The virtual time that calls have taken, once.
    package func takeElapsed() -> Duration {
        defer { elapsed = .zero }
        return elapsed
    }

    static func folder(of path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
    }
}

internal import Bytes

extension SimulatedDisk {
    /// Ends the process that has the disk and heals what was failing; the next one finds what `end` leaves.
    package func restart(after end: End) {
        if end == .powerCut { loseUnsynced() }
        for node in nodes.values { node.lockedBy = nil }
        hasCrashed = false
        crashStep = nil
        failingSyncs = 0
        syncsBeforeFailing = 0
        failingWrites = 0
        failingReads = 0
        mishap = nil
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
            node.forgetHoles()
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

    /// True where a file has a fault of its own.
    func isInjured(_ path: String) -> Bool { nodes[path]?.isInjured ?? false }

    /// The name of a file; empty where it has none any more.
    func path(of node: Node) -> String { nodes.first { $0.value === node }?.key ?? "" }

    /// Turns bits of a byte over, for good.
    package func flip(_ path: String, at offset: Int, mask: UInt8) {
        nodes[path]?.isInjured = true
        nodes[path]?.image.spoil(offset..<offset + 1) { $0 ^ mask }
    }

    /// Makes the sector with a byte unreadable, until it is written again.
    func makeUnreadable(_ path: String, at offset: Int) {
        nodes[path]?.isInjured = true
        nodes[path]?.badSectors.insert(offset / SectorImage.sector)
    }
}

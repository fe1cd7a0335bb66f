internal import Bytes
internal import Posix

/// The folder `dead`: the dead letters of all destinations, a file each, so that damage to one costs one.
///
/// What there is comes from the names; no letter is read at the start.
final class DeadLetterStore {
    static let folder = "dead"
    private static let page = 4_096
    /// No letter is made where the file system has room for fewer files, which events may need.
    private static let filesForEvents: UInt64 = 64

    /// How far a letter has come.
    enum Stage: Equatable {
        case waiting
        /// To be sent again.
        case retried
        /// To be removed, and in nobody's sight any more; what it was before.
        case leaving(wasRetried: Bool)
        /// Delivered; its file says so, the cursor does not yet.
        case delivered
        /// Delivered and counted; its file is to go once the cursor is durable.
        case counted
        /// Its file is gone, which is perhaps not durable; the cursor has not counted it yet.
        case unlinked

        /// True for what operators see.
        var isShown: Bool { self == .waiting || self == .retried }

        /// True where its cursor, once past it, counts it as dead.
        var isCounted: Bool {
            switch self {
            case .waiting, .retried, .leaving: true
            case .delivered, .counted, .unlinked: false
            }
        }

        /// What the file of a letter that has one is called.
        var state: DeadLetterName.State {
            switch self {
            case .waiting, .leaving(wasRetried: false): .letter
            case .retried, .leaving(wasRetried: true): .retry
            case .delivered, .counted, .unlinked: .done
            }
        }
    }

    /// What letters take.
    struct Use {
        var letters = 0
        /// On disk, without folders.
        var bytes = 0

        mutating func add(_ letters: Int, bytes: Int) {
            self.letters += letters
            self.bytes += bytes
        }
    }

    private let storage: any Storage
    private let seal: UInt32
    private var shelves: [Queue.CursorKey: LetterShelf] = [:]
    private var folders: Set<String> = []
    /// Destinations whose folder could not be listed, so that it is not known what there is; nil: none could.
    private var unlisted: Set<String>? = []
    private var all = Use()
    private var uses: [String: Use] = [:]
    /// Letters that are delivered, counted or unlinked.
    private(set) var unfinished: Set<DeadLetterName> = []
    /// Letters of which a part was written, or all, before that failed; they are to go.
    private var failed: Set<DeadLetterName> = []
    /// Letters that may have a file of another state beside their own.
    private var doubled: Set<DeadLetterName> = []

    init(_ storage: any Storage, seal: UInt32) {
        self.storage = storage
        self.seal = seal
    }

    /// What it takes on disk, bytes.
    var bytes: Int { all.bytes + folders.count * Self.page }
}

// MARK: What there is

extension DeadLetterStore {
    /// All cursors that have letters.
    var keys: [Queue.CursorKey] { Array(shelves.keys) }

    func stage(of name: DeadLetterName) -> Stage? { shelves[Queue.CursorKey(name)]?[name.sequence]?.stage }

    /// The letters of a destination and log of which `include` is true, in order.
    func names(of key: Queue.CursorKey, where include: (UInt64, Stage) -> Bool) -> [DeadLetterName] {
        letters(of: key, from: 0).compactMap { letter in
            guard include(letter.sequence, letter.stage) else { return nil }
            return DeadLetterName(destination: key.destination, log: key.log, sequence: letter.sequence)
        }
    }

    /// The letters of a destination and log from a sequence number on, in order.
    func letters(of key: Queue.CursorKey, from low: UInt64) -> ArraySlice<LetterShelf.Letter> {
        shelves[key]?.letters(from: low) ?? []
    }

    /// The numbers of those that are to be sent again, in order.
    func retried(_ key: Queue.CursorKey) -> ArraySlice<UInt64> { shelves[key]?.retried ?? [] }

    /// Letters from a sequence number on, which no cursor has passed.
    func pending(_ key: Queue.CursorKey, from low: UInt64) -> Set<UInt64> {
        let wanted = [Stage.waiting, .leaving(wasRetried: false)]
        return Set(letters(of: key, from: low).lazy.filter { wanted.contains($0.stage) }.map(\.sequence))
    }

    /// True where something failed that is to be done again.
    var hasUnfinished: Bool { !unfinished.isEmpty || !failed.isEmpty }

    /// False where letters may be there that are not known.
    func isListed(_ destination: String) -> Bool { unlisted.map { !$0.contains(destination) } ?? false }

    private func enter(_ name: DeadLetterName, _ stage: Stage, room: Int) {
        forget(name)
        shelves[Queue.CursorKey(name), default: LetterShelf()].enter(
            LetterShelf.Letter(sequence: name.sequence, stage: stage, room: room))
        count(1, bytes: room, of: name.destination)
    }

    private func count(_ letters: Int, bytes: Int, of destination: String) {
        all.add(letters, bytes: bytes)
        uses[destination, default: Use()].add(letters, bytes: bytes)
        if uses[destination]?.letters == 0 { uses[destination] = nil }
    }

    func set(_ name: DeadLetterName, to stage: Stage) {
        guard shelves[Queue.CursorKey(name)]?.set(name.sequence, to: stage) ?? false else { return }
        switch stage {
        case .waiting, .retried, .leaving: unfinished.remove(name)
        case .delivered, .counted, .unlinked: unfinished.insert(name)
        }
    }

    /// Lets go of a letter whose file is gone.
    func forget(_ name: DeadLetterName) {
        unfinished.remove(name)
        guard let letter = shelves[Queue.CursorKey(name)]?.remove(name.sequence) else { return }
        count(-1, bytes: -letter.room, of: name.destination)
        if shelves[Queue.CursorKey(name)]?.letters.isEmpty == true { shelves[Queue.CursorKey(name)] = nil }
    }
}

// MARK: The start

extension DeadLetterStore {
    /// Lists what there is, and removes what a run that was killed had not finished writing.
    ///
    /// What is there, and what is gone, is made durable first: cursors will count by it, and a run that was killed had
    /// perhaps not.
    func load(_ report: inout RecoveryReport) {
        do throws(QueueError) {
            let names = try list(Self.folder)
            guard let names else { return }
            try synchronise(["", Self.folder])
            folders.insert(Self.folder)
            for destination in names {
                let path = Self.folder + "/" + destination
                guard destination.isShortName, (try? storage.status(of: path))?.kind == .directory else {
                    report.strays.append(path)
                    continue
                }
                folders.insert(path)
                do throws(QueueError) {
                    try synchronise([path])
                    for text in try list(path) ?? [] { take(text, of: destination, &report) }
                } catch {
                    unlisted?.insert(destination)
                    report.failures.append(error)
                }
            }
        } catch {
            unlisted = nil
            report.failures.append(error)
        }
        do throws(QueueError) { try clearFailed() } catch { report.failures.append(error) }
    }

    private func list(_ folder: String) throws(QueueError) -> [String]? {
        do throws(QueueError) {
            return try storage.attempt(.list, folder) { () throws(Errno) in try storage.names(in: folder) }
        } catch {
            if case .failed(_, _, _, .noEntry) = error { return nil }
            throw error
        }
    }

    private func take(_ text: String, of destination: String, _ report: inout RecoveryReport) {
        let path = Self.folder + "/" + destination + "/" + text
        let suffix = DeadLetterName.newSuffix
        if text.hasSuffix(suffix),
            let (name, _) = DeadLetterName.read(text.dropLast(suffix.count) + ".letter", of: destination)
        {
            failed.insert(name)
            return
        }
        guard let (name, state) = DeadLetterName.read(text, of: destination),
            let status = try? storage.status(of: path), status.kind == .regular
        else { return report.strays.append(path) }
        // A letter that came back from its retry may have left that behind.
        switch (stage(of: name), state) {
        case (.waiting, _): return removeDouble(name, state)
        case (.delivered, _): removeDouble(name, .done)
        default: break
        }
        enter(name, .waiting, room: roundedUp(status.size, to: Self.page))
        switch state {
        case .letter: break
        case .retry: set(name, to: .retried)
        case .done: set(name, to: .delivered)
        }
    }
}

// MARK: Files

extension DeadLetterStore {
    /// Writes letters, which are durable when it returns; one that was to be sent again takes the place of the old one.
    ///
    /// - Throws: `deadLettersFull`, `tooManyDeadLetters` or `failed`; then none of them is there.
    func add(_ letters: [DeadLetter], within limits: LetterLimits) throws(QueueError) {
        try clearFailed()
        let images = letters.map { $0.encode(seal: seal) }
        let destinations = Set(letters.map(\.name.folder)).sorted()
        var growth: [String: Use] = [:]
        for (letter, image) in zip(letters, images) {
            let room = roundedUp(image.count, to: Self.page)
            let old = shelves[Queue.CursorKey(letter.name)]?[letter.name.sequence]
            growth[letter.destination, default: Use()].add(old == nil ? 1 : 0, bytes: room - (old?.room ?? 0))
        }
        let newFolders = ([Self.folder] + destinations).count { !folders.contains($0) } * Self.page
        try check(growth, limits, room: limits.room - newFolders)
        try checkFiles()
        for folder in [Self.folder] + destinations { try make(folder) }
        do throws(QueueError) {
            for (letter, image) in zip(letters, images) { try write(letter.name, image) }
            try synchronise(destinations)
        } catch {
            failed.formUnion(letters.lazy.map(\.name).filter { self.stage(of: $0) != .waiting })
            do throws(QueueError) { try clearFailed() } catch {}
            throw error
        }
        for (letter, image) in zip(letters, images) {
            if stage(of: letter.name) == .retried { removeDouble(letter.name, .retry) }
            enter(letter.name, .waiting, room: roundedUp(image.count, to: Self.page))
        }
    }

    /// The last files that a file system has room for are the log's.
    private func checkFiles() throws(QueueError) {
        let left = try storage.attempt(.status, "") { () throws(Errno) in try storage.space().files }
        if left < Self.filesForEvents { throw .noFilesForDeadLetters(left: left) }
    }

    /// What needs no more than was there is always taken.
    private func check(_ growth: [String: Use], _ limits: LetterLimits, room: Int) throws(QueueError) {
        var more = Use()
        for (destination, growth) in growth.sorted(by: { $0.key < $1.key }) {
            try check(uses[destination] ?? Use(), growth, limits.share)
            more.add(growth.letters, bytes: growth.bytes)
        }
        try check(all, more, Use(letters: limits.all.letters, bytes: min(limits.all.bytes, all.bytes + max(0, room))))
    }

    private func check(_ used: Use, _ growth: Use, _ limit: Use) throws(QueueError) {
        if growth.letters > 0, used.letters + growth.letters > limit.letters {
            throw .tooManyDeadLetters(used.letters, limit: limit.letters)
        }
        if growth.bytes > 0, used.bytes + growth.bytes > limit.bytes {
            throw .deadLettersFull(bytes: UInt64(used.bytes), limit: UInt64(limit.bytes))
        }
    }

    private func write(_ name: DeadLetterName, _ image: [UInt8]) throws(QueueError) {
        try storage.unlinkIfThere(name.newPath)
        try storage.attempt(.write, name.newPath) { () throws(Errno) in
            let file = try storage.open(name.newPath, .createNew)
            try file.write(image, in: 0..<image.count, at: 0)
            try file.synchroniseData()
            try storage.rename(name.newPath, to: name.path(.letter))
        }
    }

    private func make(_ folder: String) throws(QueueError) {
        guard !folders.contains(folder) else { return }
        let parent = folder == Self.folder ? "" : Self.folder
        try storage.attempt(.create, folder) { () throws(Errno) in
            try storage.createDirectoryIfMissing(folder)
            try storage.synchroniseDirectory(parent)
        }
        folders.insert(folder)
    }

    /// Removes what an attempt that failed has left, durably.
    func clearFailed() throws(QueueError) {
        guard !failed.isEmpty else { return }
        for name in failed.sorted() {
            try storage.unlinkIfThere(name.newPath)
            // A letter that is sent again has another name.
            if stage(of: name) != .waiting { try storage.unlinkIfThere(name.path(.letter)) }
        }
        try synchronise(Set(failed.map(\.folder)).sorted())
        failed.removeAll()
    }

    /// Makes durable what an earlier run, perhaps killed before it could, has removed.
    func synchroniseFolders() throws(QueueError) {
        try synchronise(folders.filter { $0 != Self.folder }.sorted())
    }

    func synchronise(_ folders: [String]) throws(QueueError) {
        for folder in folders {
            try storage.attempt(.synchronise, folder) { () throws(Errno) in try storage.synchroniseDirectory(folder) }
        }
    }

    /// Gives a letter's file the name of another state.
    func rename(_ name: DeadLetterName, from old: DeadLetterName.State, to new: DeadLetterName.State) throws(QueueError)
    {
        do throws(QueueError) {
            try storage.attempt(.rename, name.path(old)) { () throws(Errno) in
                try storage.rename(name.path(old), to: name.path(new))
            }
        } catch {
            doubled.insert(name)
            throw error
        }
    }

    /// Has letters wait that were to be sent again, durably.
    func putBack(_ names: [DeadLetterName]) throws(QueueError) {
        for name in names {
            try rename(name, from: .retry, to: .letter)
            set(name, to: .waiting)
        }
        try synchronise(Set(names.map(\.folder)).sorted())
    }

    /// Removes a letter's file, whatever its state; not durably.
    func unlink(_ name: DeadLetterName) throws(QueueError) {
        guard let stage = stage(of: name) else { return }
        let states = doubled.contains(name) ? DeadLetterName.State.allCases : [stage.state]
        for state in states { try storage.unlinkIfThere(name.path(state)) }
        doubled.remove(name)
    }

    /// Removes a file that a letter has beside its own.
    private func removeDouble(_ name: DeadLetterName, _ state: DeadLetterName.State) {
        do throws(QueueError) { try storage.unlinkIfThere(name.path(state)) } catch { doubled.insert(name) }
    }

    /// Reads a letter; nil where there is none.
    ///
    /// - Throws: `damagedLetter` where it is not whole, `failed` where the disk gives an error.
    func read(_ name: DeadLetterName) throws(QueueError) -> DeadLetter? {
        guard let stage = stage(of: name), stage.isCounted else { return nil }
        let path = name.path(stage.state)
        let bytes = try storage.attempt(.read, path) { () throws(Errno) in
            var bytes: [UInt8] = []
            _ = try storage.open(path, .readOnly).read(upTo: DeadLetter.maximumBytes, at: 0, into: &bytes)
            return bytes
        }
        guard let letter = DeadLetter(bytes, seal: seal), letter.name == name else {
            throw .damagedLetter(path: storage.root + "/" + path)
        }
        return letter
    }
}

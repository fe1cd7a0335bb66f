internal import Bytes
internal import Posix

/// The file `cursors`, whose shape `CursorSlot` draws; zero-filled ahead, so that writing a slot changes no metadata.
///
/// After an error, and at each start, the next sync writes a new file and puts it in its place. Where there is no room
/// for a new one, the file that the start found is written over: a full disk must not keep what is settled.
final class CursorFile {
    static let path = "cursors"
    private static let newPath = "cursors.new"
    private static let leastPairs = 8
    private static let maximumBytes = 16 << 20
    private static let pairSize = 2 * CursorSlot.pageSize
    /// No file is shorter, bytes.
    static let leastBytes = leastPairs * pairSize
    /// How long a file is that was made for no cursor, bytes; zeros in one of another length are damage.
    static let unusedBytes = leastBytes + pairSize
    /// Where a file goes that cannot be opened.
    private static let unreadPath = Quarantine.folder + "/cursors"

    private let storage: any Storage
    private let seal: UInt32
    private var places: [Place] = []
    private var file: (any StorageFile)?
    /// The file that the start found, until it is replaced or fails.
    private var earlier: (any StorageFile)?
    private var fileSize = 0
    /// True where something was written since the last sync.
    private(set) var isDirty = false
    /// What made the newest write or sync fail; nil once one has succeeded.
    private(set) var failure: QueueError?

    /// True where a sync failed after what it was to make durable had come to the disk under the file's name, so that
    /// the next start may find it.
    private(set) var mayBeDurable = false

    /// What its bytes on disk are, zero while there is no file.
    var bytes: Int { fileSize }

    /// What has one number, for its two copies in the file.
    private struct Place {
        /// The newest state; nil where it is free, or damaged and left alone.
        var slot: CursorSlot?
        /// The generation that stands in the file, and the one that a sync has made durable there; nil where there is
        /// none.
        var written: UInt64?
        var durable: UInt64?
    }

    /// What was found in the file.
    struct Found {
        var slots: [CursorSlot] = []
        var damaged = 0
        var isMissing = false
    }

    init(_ storage: any Storage, seal: UInt32) {
        self.storage = storage
        self.seal = seal
    }

    /// Has the next sync write a new file, though nothing has changed.
    ///
    /// What can be read of this one was perhaps never synced, or a sync of it failed, before the last run ended.
    func renew() {
        if failure == nil { earlier = file ?? earlier }
        file = nil
        isDirty = true
    }

    /// Reads the file; what cannot be read counts as damaged.
    func load() -> Found {
        var found = Found()
        let bytes = contents()
        guard let bytes else {
            found.isMissing = true
            return found
        }
        let isUnused = bytes.count == Self.unusedBytes
        if bytes.count < Self.leastBytes || (!isUnused && bytes.isZero(in: bytes.indices)) { found.damaged += 1 }
        for index in 0..<bytes.count / Self.pairSize * CursorSlot.perPair {
            let places = [UInt64(0), 1].map { CursorSlot.offset(of: index, generation: $0) }
            let copies = places.compactMap { CursorSlot(bytes, at: $0, seal: seal) }
            let inUse = places.filter { !bytes.isZero(in: $0..<$0 + CursorSlot.size) }.count
            if inUse > copies.count { found.damaged += 1 }
            let newest = copies.max { $0.generation < $1.generation }
            self.places.append(Place(slot: newest, written: newest?.generation))
            guard let newest else {
                if inUse > 0 { takenByDamage.insert(index) }
                continue
            }
            found.slots.append(newest)
        }
        return found
    }

    /// Slots whose bytes are damaged; never written again.
    private var takenByDamage: Set<Int> = []
    /// True while a file that could not be opened has the name.
    private var isUnread = false

    private func contents() -> [UInt8]? {
        do throws(Errno) {
            file = try storage.open(Self.path, .readWrite)
        } catch {
            if error == .noEntry { return nil }
            fail(.open, error)
        }
        guard let source = file ?? (try? storage.open(Self.path, .readOnly)) else {
            isUnread = true
            return []
        }
        let size = min(Self.maximumBytes, (try? source.size()) ?? 0)
        fileSize = size
        var bytes: [UInt8] = []
        while bytes.count < size {
            let before = bytes.count
            let page = min(CursorSlot.pageSize, size - before)
            _ = try? source.read(upTo: page, at: before, into: &bytes)
            // What the disk does not give is damage, told from an unused slot by not being zero.
            if bytes.count < before + page {
                bytes.append(contentsOf: repeatElement(0xFF, count: before + page - bytes.count))
            }
        }
        return bytes
    }

    /// Writes the state of a cursor over the copy that is not the durable one and returns its slot.
    ///
    /// `index` is what an earlier call returned for this cursor, or nil. The generation is set here.
    func write(_ slot: CursorSlot, at index: Int?) -> Int {
        let place = index ?? freeSlot()
        let isFirst = fileSize == Self.unusedBytes && places.allSatisfy { $0.slot == nil }
        var slot = slot
        slot.generation = generation(after: places[place].slot?.generation ?? 0, in: place)
        places[place].slot = slot
        isDirty = true
        guard let file, failure == nil else { return place }
        do throws(Errno) {
            // The first cursor needs a file that tells that there is one.
            if isFirst {
                renew()
                try renewFile()
                return place
            }
            try put(slot, at: place, in: file)
        } catch {
            fail(.write, error)
        }
        return place
    }

    /// Lets go of a cursor: the next sync writes a file without it.
    func free(_ index: Int) {
        places[index].slot = nil
        renew()
    }

    /// Where the cursor of a destination and log stands.
    func index(destination: String, log: LogName) -> Int? {
        places.firstIndex { $0.slot?.destination == destination && $0.slot?.log == log }
    }

    /// Makes everything written durable, in a new file where the old one failed.
    func synchronise() throws(QueueError) {
        guard isDirty else { return }
        mayBeDurable = false
        do throws(Errno) {
            if let file, failure == nil {
                mayBeDurable = true
                try file.synchroniseData()
                writtenIsDurable()
            } else {
                try renewFile()
            }
        } catch {
            fail(.synchronise, error)
        }
        if let failure { throw failure }
        isDirty = false
    }

    private func renewFile() throws(Errno) {
        do throws(Errno) {
            try writeNew()
        } catch {
            guard error == .noSpace || error == .quota, let old = earlier else { throw error }
            earlier = nil
            try writeOver(old)
        }
        earlier = nil
    }

    /// Writes every slot over the copy that is not the durable one, so that the sync covers all of them whatever became
    /// of earlier ones, and then zeros over those that were let go of.
    private func writeOver(_ old: any StorageFile) throws(Errno) {
        mayBeDurable = true
        try old.synchroniseData()
        writtenIsDurable()
        for index in places.indices {
            guard var slot = places[index].slot else { continue }
            slot.generation = generation(after: slot.generation, in: index)
            places[index].slot = slot
            try put(slot, at: index, in: old)
        }
        try old.synchroniseData()
        writtenIsDurable()
        let free = places.indices.filter { places[$0].slot == nil && places[$0].written != nil }
        for index in free {
            for copy in [UInt64(0), 1] {
                let zeros = [UInt8](repeating: 0, count: CursorSlot.size)
                try old.write(zeros, in: 0..<zeros.count, at: CursorSlot.offset(of: index, generation: copy))
            }
        }
        if !free.isEmpty { try old.synchroniseData() }
        for index in free { places[index] = Place() }
        file = old
        failure = nil
    }

    private func put(_ slot: CursorSlot, at index: Int, in file: any StorageFile) throws(Errno) {
        try grow(file, toHold: index)
        places[index].written = slot.generation
        let offset = CursorSlot.offset(of: index, generation: slot.generation)
        try file.write(slot.encode(seal: seal), in: 0..<CursorSlot.size, at: offset)
    }

    /// The next generation whose copy is not the durable one: however many are written until the next sync, and
    /// whatever becomes of them, that one stays.
    private func generation(after newest: UInt64, in index: Int) -> UInt64 {
        let next = max(newest, places[index].written ?? 0) + 1
        return places[index].durable.map { $0 & 1 == next & 1 } ?? false ? next + 1 : next
    }

    private func writtenIsDurable() {
        for index in places.indices { places[index].durable = places[index].written }
    }

    private func writeNew() throws(Errno) {
        let last = places.lastIndex { $0.slot != nil }
        let used = last.map { max(Self.leastBytes, ($0 / CursorSlot.perPair + 1) * Self.pairSize) }
        var image = [UInt8](repeating: 0, count: used ?? Self.unusedBytes)
        for index in places.indices {
            // Both copies, so that damage to one of them costs nothing from the beginning.
            for _ in 0..<2 {
                guard var slot = places[index].slot else { break }
                slot.generation += 1
                places[index].slot = slot
                let offset = CursorSlot.offset(of: index, generation: slot.generation)
                image.replaceSubrange(offset..<offset + CursorSlot.size, with: slot.encode(seal: seal))
            }
        }
        do throws(Errno) { try storage.unlink(Self.newPath) } catch  where error == .noEntry {}
        let new = try storage.open(Self.newPath, .createNew)
        do throws(Errno) {
            try new.write(image, in: 0..<image.count, at: 0)
            try new.synchroniseData()
            if isUnread { try moveAside() }
            mayBeDurable = true
            try storage.rename(Self.newPath, to: Self.path)
            earlier = nil
        } catch {
            // A full disk needs the room.
            try? storage.unlink(Self.newPath)
            throw error
        }
        try storage.synchroniseDirectory("")
        file = new
        fileSize = image.count
        failure = nil
        for index in places.indices { places[index].written = places[index].slot?.generation }
        writtenIsDurable()
    }

    /// Keeps a file that could not be opened for whoever can.
    private func moveAside() throws(Errno) {
        try storage.createDirectoryIfMissing(Quarantine.folder)
        do throws(Errno) { try storage.rename(Self.path, to: Self.unreadPath) } catch  where error == .noEntry {}
        isUnread = false
    }

    private func grow(_ file: any StorageFile, toHold index: Int) throws(Errno) {
        let needed = (index / CursorSlot.perPair + 1) * Self.pairSize
        guard fileSize < needed else { return }
        let zeros = [UInt8](repeating: 0, count: needed - fileSize)
        try file.write(zeros, in: 0..<zeros.count, at: fileSize)
        fileSize = needed
    }

    private func freeSlot() -> Int {
        for index in places.indices where places[index].slot == nil && !takenByDamage.contains(index) { return index }
        places.append(Place())
        return places.count - 1
    }

    private func fail(_ operation: QueueError.Operation, _ errno: Errno) {
        failure = .failed(operation, path: storage.root + "/" + Self.path, offset: 0, errno)
    }
}

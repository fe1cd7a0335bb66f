internal import Bytes
internal import Posix
package import Time

extension Queue {
    private static let formatPath = "FORMAT"
    private static let newFormatPath = "FORMAT.new"
    private static let lockPath = "LOCK"

    /// Takes the directory, makes it a queue where it is empty, and recovers what it holds.
    ///
    /// Reads names, cursors and the newest segment of each log. `randomBits` gives the epochs and the queue's
    /// identity. What fails without ending the start is in `recovery.failures`.
    ///
    /// - Throws: only what `endsStart`.
    package static func open(
        _ storage: any Storage, options: QueueOptions, destinations: [String], at wall: WallTime,
        randomBits: @escaping () -> UInt64, clock: @escaping () -> Instant = { Clock.now }
    ) throws(QueueError) -> Queue {
        var failures: [QueueError] = []
        let names = try ownNames(storage)
        let lock = try takeLock(storage, &failures)
        let existing = names.contains(formatPath) ? try readFormat(storage) : nil
        let format =
            existing ?? FormatPage(identity: QueueIdentity(low: randomBits(), high: randomBits()), created: wall)
        let queue = Queue(
            storage, options, destinations, format, lock: lock, randomBits: randomBits, clock: clock)
        queue.recovery.failures = failures
        queue.recovery.isNew = existing == nil
        queue.recovery.keySeed = format.identity.keySeed
        queue.unwrittenFormat = existing == nil ? format : nil
        do throws(QueueError) {
            try queue.completeStart()
        } catch {
            queue.commitFailure = error
            queue.recovery.failures.append(error)
        }
        queue.recover(names: names, at: wall)
        queue.commitFailure = queue.commitFailure ?? queue.recoveryFailure
        #if DEBUG
            queue.assertLedger()
        #endif
        // They are in the report.
        _ = queue.takeFailures()
        queue.recovery.strays += queue.takeStrays()
        queue.strayFiles.measure(adding: queue.recovery.strays, in: storage)
        return queue
    }

    /// The names in the directory, which must be empty or a queue's, and this user's.
    private static func ownNames(_ storage: any Storage) throws(QueueError) -> [String] {
        let root = storage.root
        let names: [String]
        do {
            let status = try storage.status(of: "")
            guard status.kind == .directory else { throw Errno.notDirectory }
            guard status.owner == storage.user else {
                throw QueueError.notOurs(path: root, detail: "it belongs to user \(status.owner)")
            }
            names = try storage.names(in: "")
        } catch {
            throw startError(error, path: root)
        }
        guard !names.contains(formatPath) else { return names }
        let harmless = [lockPath, newFormatPath, "lost+found"]
        if let foreign = names.first(where: { !harmless.contains($0) }) {
            throw .notOurs(path: root, detail: "it holds \(foreign) and no FORMAT")
        }
        return names
    }

    private static func startError(_ error: any Error, path: String) -> QueueError {
        switch error {
        case let error as QueueError: error
        case let errno as Errno where errno == .access || errno == .permission: .forbidden(path: path, errno)
        case let errno as Errno where errno == .noEntry || errno == .notDirectory: .missingDirectory(path: path)
        default: .notOurs(path: path, detail: "\(error)")
        }
    }

    /// The lock, for as long as the file is open; nil where a full or read-only disk does not let it be taken.
    private static func takeLock(
        _ storage: any Storage, _ failures: inout [QueueError]
    ) throws(QueueError) -> (any StorageFile)? {
        let path = storage.root + "/" + lockPath
        for mode in [StorageMode.create, .readOnly] {
            do throws(Errno) {
                let file = try storage.open(lockPath, mode)
                if try file.tryLock() { return file }
            } catch {
                if error == .access { throw .forbidden(path: path, error) }
                failures.append(.failed(.open, path: path, offset: 0, error))
                continue
            }
            throw .locked(path: storage.root)
        }
        return nil
    }

    private static func readFormat(_ storage: any Storage) throws(QueueError) -> FormatPage {
        let path = storage.root + "/" + formatPath
        var page: [UInt8] = []
        do throws(Errno) {
            _ = try storage.open(formatPath, .readOnly).read(upTo: FormatPage.size, at: 0, into: &page)
        } catch {
            throw .notOurs(path: path, detail: "\(error)")
        }
        switch FormatPage.read(page) {
        case .good(let format): return format
        case .unknown(let version, let features):
            throw .unknownFormat(path: path, version: version, features: features)
        case .unreadable: throw .notOurs(path: path, detail: "damaged in both copies")
        }
    }

    /// Takes the lock and makes an empty directory a queue; before each commit, where a full or read-only disk has kept
    /// the start from it.
    ///
    /// - Throws: `locked` where another daemon came first; its queue is left alone.
    func completeStart() throws(QueueError) {
        if lock == nil {
            var failures: [QueueError] = []
            let taken = try Self.takeLock(storage, &failures)
            guard let taken else { throw failures.first ?? .locked(path: storage.root) }
            lock = taken
        }
        guard let format = unwrittenFormat else { return }
        if (try? storage.status(of: Self.formatPath)) != nil {
            lock = nil
            throw .locked(path: storage.root)
        }
        try write(format)
        unwrittenFormat = nil
        cursorFile.renew()
        do throws(QueueError) { try cursorFile.synchronise() } catch {}
    }

    /// Writes FORMAT, whole before it has its name.
    private func write(_ format: FormatPage) throws(QueueError) {
        try attempt(.create, Self.newFormatPath) { () throws(Errno) in
            let file = try storage.open(Self.newFormatPath, .create)
            try file.write(format.encoded, in: 0..<FormatPage.size, at: 0)
            try file.synchroniseData()
            try storage.rename(Self.newFormatPath, to: Self.formatPath)
            try storage.synchroniseDirectory("")
        }
    }
}

internal import Bytes
internal import Posix
internal import Time

/// A queue's directory, looked at and never changed; a daemon may be at work in it.
package final class Inspection {
    static let formatPath = "FORMAT"

    let storage: any Storage
    let window = SegmentWindow(passesHoles: true)
    /// The directory's path.
    package var directory: String { storage.root }
    /// What FORMAT says, or as much of it as a segment's header does where FORMAT cannot be read.
    let format: FormatPage
    /// What is wrong with FORMAT.
    let formatDamages: [Verification.Damage]

    /// Looks at the directory of `storage`.
    ///
    /// - Throws: what `endsStart`, but for `locked`; who owns the directory does not matter.
    package init(_ storage: any Storage) throws(QueueError) {
        let storage = ReadOnlyStorage(storage)
        let names = try Self.names(of: storage)
        self.storage = storage
        let page = try Self.page(of: storage, names)
        let found = Self.read(page)
        if let format = found.format {
            self.format = format
            formatDamages = found.damages
            return
        }
        if case .unknown(let version, let features) = page.map({ FormatPage.read($0) }) {
            throw .unknownFormat(path: storage.root + "/" + Self.formatPath, version: version, features: features)
        }
        guard let identity = Self.identity(in: storage) else {
            throw .notOurs(path: storage.root, detail: page == nil ? "it holds no FORMAT" : "FORMAT cannot be read")
        }
        format = FormatPage(identity: identity, created: WallTime(milliseconds: 0))
        formatDamages = [
            Verification.Damage(
                kind: page == nil ? .missing : .corrupted, path: Self.formatPath, offset: 0, length: page?.count ?? 0,
                sequences: nil)
        ]
    }

    private static func names(of storage: ReadOnlyStorage) throws(QueueError) -> [String] {
        do throws(Errno) {
            guard try storage.status(of: "").kind == .directory else { throw .notDirectory }
            return try storage.names(in: "")
        } catch {
            throw QueueError(opening: storage.root, error)
        }
    }

    private static func page(of storage: ReadOnlyStorage, _ names: [String]) throws(QueueError) -> [UInt8]? {
        guard names.contains(formatPath) else { return nil }
        var page: [UInt8] = []
        do throws(Errno) {
            _ = try storage.open(formatPath, .readOnly).read(upTo: FormatPage.size, at: 0, into: &page)
        } catch {
            if error == .access || error == .permission {
                throw .forbidden(path: storage.root + "/" + formatPath, error)
            }
        }
        return page
    }

    /// Both sheets of FORMAT, one after the other.
    private static func read(_ page: [UInt8]?) -> (format: FormatPage?, damages: [Verification.Damage]) {
        var format: FormatPage?
        var damages: [Verification.Damage] = []
        for offset in FormatPage.copies {
            let end = offset + FormatPage.sheetSize
            let sheet = page.flatMap { $0.count >= end ? Array($0[offset..<end]) : nil }
            switch sheet.map({ FormatPage.read($0) }) {
            case .good(let found): format = format ?? found
            default:
                damages.append(
                    Verification.Damage(
                        kind: .repaired, path: formatPath, offset: offset, length: FormatPage.sheetSize,
                        sequences: nil))
            }
        }
        return (format, damages)
    }

    /// The queue's identity from the first segment whose header can be read.
    private static func identity(in storage: ReadOnlyStorage) -> QueueIdentity? {
        for log in (try? storage.names(in: LogState.folder)) ?? [] {
            let folder = LogState.folder + "/" + log
            for name in (try? storage.names(in: folder)) ?? [] where SegmentName(text: name) != nil {
                var bytes: [UInt8] = []
                _ = try? storage.open(folder + "/" + name, .readOnly)
                    .read(upTo: SegmentHeader.size, at: 0, into: &bytes)
                if let header = SegmentHeader(bytes) { return header.identity }
            }
        }
        return nil
    }

    /// The names in the directory.
    func names() throws(QueueError) -> [String] {
        try storage.attempt(.list, "") { () throws(Errno) in try storage.names(in: "") }
    }

    /// Copies of damaged bytes that were set aside.
    package func quarantine() -> (files: Int, bytes: Int) {
        let names = (try? storage.names(in: Quarantine.folder)) ?? []
        let sizes = names.compactMap { try? storage.status(of: Quarantine.folder + "/" + $0).size }
        return (sizes.count, sizes.reduce(0, +))
    }

    /// The logs that have a folder, urgent before normal before bulk before the consent categories.
    func logNames() throws(QueueError) -> [LogName] {
        let names: [String]
        do throws(Errno) {
            names = try storage.names(in: LogState.folder)
        } catch {
            if error == .noEntry { return [] }
            throw .failed(.list, path: storage.root + "/" + LogState.folder, offset: 0, error)
        }
        let found = names.compactMap { LogName(text: $0) }
        return LogName.lanes.filter(found.contains) + found.filter { !LogName.lanes.contains($0) }
    }

    /// The segments of each log.
    func segmentsByLog() throws(QueueError) -> [LogName: [SegmentName]] {
        var all: [LogName: [SegmentName]] = [:]
        for name in try logNames() { all[name] = try segments(of: name) }
        return all
    }

    /// The segments of a log, by id.
    func segments(of log: LogName) throws(QueueError) -> [SegmentName] {
        let folder = LogState.folder + "/" + log.text
        do throws(Errno) {
            return try storage.names(in: folder).compactMap { SegmentName(text: $0) }.filter { name in
                (try? storage.status(of: folder + "/" + name.text))?.kind != .directory
            }
        } catch {
            if error == .noEntry { return [] }
            throw .failed(.list, path: storage.root + "/" + folder, offset: 0, error)
        }
    }
}

extension QueueError {
    /// Why a queue's directory cannot be looked at.
    fileprivate init(opening path: String, _ errno: Errno) {
        switch errno {
        case .noEntry: self = .missingDirectory(path: path)
        case .notDirectory: self = .notOurs(path: path, detail: "not a directory")
        case .access, .permission: self = .forbidden(path: path, errno)
        default: self = .failed(.open, path: path, offset: 0, errno)
        }
    }
}

internal import Bytes
internal import Posix

/// The folder `quarantine`: damaged bytes copied aside, a file a stretch, up to a limit; the oldest stay.
///
/// A file is named `<log>-<segment id, 16 hexadecimal digits>-<offset, decimal>.bin`: damage is named once only, and
/// what was copied of a log goes with it.
final class Quarantine {
    static let folder = "quarantine"

    private let storage: any Storage
    private let limit: Int
    /// The sizes of its files, in bytes, by name; 0 for damage of which nothing was copied.
    private var files: [String: Int] = [:]
    /// What it takes on disk, bytes.
    private(set) var bytes = 0
    private var exists = false
    /// True where files were removed and their names may come back.
    private var hasRemoved = false

    init(_ storage: any Storage, limit: Int) {
        self.storage = storage
        self.limit = limit
        guard let names = try? storage.names(in: Self.folder) else { return }
        exists = true
        for name in names {
            guard let status = try? storage.status(of: Self.folder + "/" + name) else { continue }
            files[name] = status.size
            bytes += roundedUp(status.size, to: 4_096)
        }
    }

    /// Has damage named that was copied before.
    func forget() { files.removeAll() }

    /// Copies a stretch of a segment; false where it was there already.
    ///
    /// What cannot be copied, or does not fit, is left out: the segment keeps it until it is retired.
    func take(_ file: any StorageFile, of log: LogName, segment: UInt64, at offset: Int, count: Int) -> Bool {
        let name = Self.name(log, segment: segment, offset: offset)
        guard files[name] == nil else { return false }
        files[name] = 0
        guard count > 0, bytes + roundedUp(count, to: 4_096) <= limit else { return true }
        do throws(Errno) {
            if !exists {
                try storage.createDirectoryIfMissing(Self.folder)
                exists = true
            }
            let copy = try storage.open(Self.folder + "/" + name, .create)
            var done = 0
            while done < count {
                var piece: [UInt8] = []
                let got = try file.read(
                    upTo: min(count - done, SegmentWindow.usualStep), at: offset + done, into: &piece)
                guard got > 0 else { break }
                try copy.write(piece, in: 0..<got, at: done)
                done += got
            }
            files[name] = count
            bytes += roundedUp(count, to: 4_096)
        } catch {
            // A disk that is full is left as it was, and the next start tries again.
            try? storage.unlink(Self.folder + "/" + name)
        }
        return true
    }
}

extension Quarantine {
    /// Removes what was copied of a stretch of a segment that was purged, or of the whole log; durably.
    func remove(_ log: LogName, segment: UInt64? = nil, in range: Range<Int> = 0..<Int.max) throws(QueueError) {
        let copies = files.filter { name, size in
            guard size > 0, let place = Self.place(name, in: log) else { return false }
            return (segment ?? place.segment) == place.segment
                && range.overlaps(place.offset..<place.offset + size)
        }
        for (name, size) in copies.sorted(by: { $0.key < $1.key }) {
            try storage.unlinkIfThere(Self.folder + "/" + name)
            hasRemoved = true
            // It stays known, so that the damage is not named again.
            files[name] = 0
            bytes -= roundedUp(size, to: 4_096)
        }
        guard hasRemoved else { return }
        try storage.attempt(.synchronise, Self.folder) { () throws(Errno) in
            try storage.synchroniseDirectory(Self.folder)
        }
        hasRemoved = false
    }

    private static func name(_ log: LogName, segment: UInt64, offset: Int) -> String {
        log.text + "-" + Hexadecimal.digits(segment).text + "-\(offset).bin"
    }

    /// Reads the name of a file of that log; nil for anything else.
    private static func place(_ name: String, in log: LogName) -> (segment: UInt64, offset: Int)? {
        guard name.hasPrefix(log.text + "-"), name.hasSuffix(".bin") else { return nil }
        let parts = name.dropFirst(log.text.count + 1).dropLast(4).split(
            separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let segment = Hexadecimal.value(Array(parts[0].utf8)), let offset = Int(parts[1]),
            offset >= 0, Self.name(log, segment: segment, offset: offset) == name
        else { return nil }
        return (segment, offset)
    }
}

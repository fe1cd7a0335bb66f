internal import Bytes
internal import Posix

/// The folder `quarantine`: damaged bytes copied aside, a file a stretch, up to a limit; the oldest stay.
///
/// A file is named `<segment id, 16 hexadecimal digits>-<offset, decimal>.bin`, so that damage is named once only.
final class Quarantine {
    static let folder = "quarantine"

    private let storage: any Storage
    private let limit: Int
    /// The sizes of its files, in bytes, by name.
    private var files: [String: Int] = [:]
    /// What it takes on disk, bytes.
    private(set) var bytes = 0
    private var exists = false

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

    /// Copies a stretch of a segment; false where it was there already.
    ///
    /// What cannot be copied, or does not fit, is left out: the segment keeps it until it is retired.
    func take(_ file: any StorageFile, segment: UInt64, at offset: Int, count: Int) -> Bool {
        let name = Hexadecimal.digits(segment).text + "-\(offset).bin"
        guard files[name] == nil else { return false }
        files[name] = count
        guard count > 0, bytes + roundedUp(count, to: 4_096) <= limit else { return true }
        do throws(Errno) {
            if !exists {
                do throws(Errno) { try storage.createDirectory(Self.folder) } catch  where error == .exists {}
                exists = true
            }
            let copy = try storage.open(Self.folder + "/" + name, .create)
            bytes += roundedUp(count, to: 4_096)
            var done = 0
            while done < count {
                var piece: [UInt8] = []
                let got = try file.read(upTo: min(count - done, SegmentWindow.step), at: offset + done, into: &piece)
                guard got > 0 else { break }
                try copy.write(piece, in: 0..<got, at: done)
                done += got
            }
        } catch {}
        return true
    }
}

extension Quarantine {
    /// Removes the copies of a stretch of a segment that was purged; durably.
    func remove(segment: UInt64, in range: Range<Int>) throws(QueueError) {
        let prefix = Hexadecimal.digits(segment).text + "-"
        for (name, size) in files.sorted(by: { $0.key < $1.key }) where name.hasPrefix(prefix) {
            guard let offset = Int(name.dropFirst(prefix.count).dropLast(".bin".count)),
                range.overlaps(offset..<offset + max(size, 1)), size > 0
            else { continue }
            try storage.unlinkIfThere(Self.folder + "/" + name)
            try storage.attempt(.synchronise, Self.folder) { () throws(Errno) in
                try storage.synchroniseDirectory(Self.folder)
            }
            // It stays known, so that the damage is not named again.
            files[name] = 0
            bytes -= roundedUp(size, to: 4_096)
        }
    }
}

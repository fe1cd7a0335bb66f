internal import Bytes
package import Posix

/// Why the queue could not be opened, or could not do what was asked.
package enum QueueError: Error, Equatable, Sendable {
    /// What was being done to a file.
    package enum Operation: String, Sendable {
        case open, create, list, read, write, synchronise, rename, unlink, status
    }

    /// The directory is not there, or is none.
    case missingDirectory(path: String)
    /// The directory belongs to something or somebody else.
    case notOurs(path: String, detail: String)
    /// This user may not use the directory.
    case forbidden(path: String, Errno)
    /// Another daemon has it.
    case locked(path: String)
    /// It was written by another version, or with features that this one does not know.
    case unknownFormat(path: String, version: UInt16, features: UInt64)
    /// A system call failed; a state, not an end.
    case failed(Operation, path: String, offset: Int, Errno)
    /// The queue has reached the share of `MaxSize` that this log may fill; a state.
    case full(LogName, bytes: UInt64, limit: UInt64)
    /// The file system has no more room than `KeepFree` keeps and is `reserved` for more urgent logs; a state.
    case noRoom(LogName, available: UInt64, keep: UInt64, reserved: UInt64)
    /// The dead letters, of a destination or of all, have reached the share of `MaxSize` that they may fill; a state.
    case deadLettersFull(bytes: UInt64, limit: UInt64)
    /// There are as many dead letters, of a destination or of all, as there may be; a state.
    case tooManyDeadLetters(Int, limit: Int)
    /// The file system has too few inodes left for dead letters; a state.
    case noFilesForDeadLetters(left: UInt64)
    /// A dead letter's file cannot be read as it was written.
    case damagedLetter(path: String)

    /// True for what ends the start of the daemon, with status 74, or 77 for `forbidden`.
    package var endsStart: Bool {
        switch self {
        case .missingDirectory, .notOurs, .forbidden, .locked, .unknownFormat: true
        case .failed, .full, .noRoom, .deadLettersFull, .tooManyDeadLetters, .noFilesForDeadLetters, .damagedLetter:
            false
        }
    }

    /// True where there is no room, be it counted here or told by the system.
    package var isLackOfRoom: Bool {
        switch self {
        case .full, .noRoom, .failed(_, _, _, .noSpace), .failed(_, _, _, .quota): true
        default: false
        }
    }
}

extension QueueError {
    /// True where there may be no more dead letters.
    package var keepsLettersOut: Bool {
        switch self {
        case .deadLettersFull, .tooManyDeadLetters, .noFilesForDeadLetters: true
        default: false
        }
    }

    /// True where a file or folder was not there.
    var isMissingEntry: Bool {
        if case .failed(_, _, _, .noEntry) = self { true } else { false }
    }
}

extension QueueError: CustomStringConvertible {
    /// One sentence for the journal and for status.
    package var description: String {
        switch self {
        case .missingDirectory(let path): "\(path): no such directory"
        case .notOurs(let path, let detail): "\(path): not a queue of this daemon: \(detail)"
        case .forbidden(let path, let errno): "\(path): \(errno)"
        case .locked(let path): "\(path): in use by another daemon"
        case .unknownFormat(let path, let version, let features):
            "\(path): format \(version) with features \(features) is not known to this version"
        case .failed(let operation, let path, let offset, let errno):
            "\(operation.rawValue) of \(path) at \(offset): \(errno)"
        case .full(let log, let bytes, let limit):
            "MaxSize= is reached for \(log.text): \(Self.shown(bytes)) of \(Self.shown(limit))"
        case .noRoom(let log, let available, let keep, let reserved):
            "the file system is full for \(log.text): \(Self.shown(available)) free"
                + (keep > 0 ? ", KeepFree= keeps \(Self.shown(keep))" : "")
                + (reserved > 0 ? ", \(Self.shown(reserved)) are for more urgent events" : "")
        case .deadLettersFull(let bytes, let limit):
            "full for dead letters: \(Self.shown(bytes)) of \(Self.shown(limit))"
        case .tooManyDeadLetters(let count, let limit): "full for dead letters: \(count) of \(limit) letters"
        case .noFilesForDeadLetters(let left):
            "full for dead letters: the file system has \(left) inodes left, which are for events"
        case .damagedLetter(let path): "\(path): a damaged dead letter"
        }
    }

    private static func shown(_ bytes: UInt64) -> String { Amount.bytes(Int64(clamping: bytes)) }
}

internal import Posix

/// Why the daemon gave no answer.
enum ClientError: Error, Equatable, Sendable {
    /// Nothing listens at the path.
    case notListening(path: String)
    /// The path's permissions keep this user out.
    case notAllowed(path: String)
    /// The listener's backlog is full.
    case busy(path: String)
    /// It did not answer in time; what was sent may have been taken.
    case timedOut(path: String)
    /// It closed the connection without an answer; what was sent may have been taken.
    case closed(path: String)
    /// It ended an answer that has no end by itself: it was killed, or this was too slow for it.
    case ended(path: String)
    /// What came is not HTTP, or too much.
    case malformed(path: String, detail: String)
    case failed(path: String, errno: Errno)

    /// How every command but `status` ends.
    var exitStatus: ExitStatus {
        switch self {
        case .notListening, .closed, .ended: .unreachable
        case .notAllowed: .notAllowed
        case .busy, .timedOut: .tryLater
        case .malformed, .failed: .failed
        }
    }

    /// How `status` ends: a daemon that is there but hangs is not one that does not run.
    var exitStatusOfStatus: ExitStatus {
        switch self {
        case .notListening, .closed, .ended: .notRunning
        case .timedOut: .unreachable
        case .notAllowed, .busy, .malformed, .failed: exitStatus
        }
    }

    /// What happened and what to do about it, in a sentence.
    var message: String {
        switch self {
        case .notListening(let path): "uplinkd does not listen at \(path); 'systemctl status uplinkd' says more"
        case .notAllowed(let path): "not allowed to talk to \(path)"
        case .busy(let path): "\(path) has too many clients; try again later"
        case .timedOut(let path): "no answer from \(path) in time; what was sent may have been taken"
        case .closed(let path): "\(path) closed the connection without an answer; what was sent may have been taken"
        case .ended(let path): "\(path) is gone without a word: uplinkd was killed, or this was too slow to read"
        case .malformed(let path, let detail): "what \(path) answers is not understood: \(detail)"
        case .failed(let path, let errno): "\(path): \(errno)"
        }
    }

    init(connecting path: String, _ errno: Errno) {
        switch errno {
        case .noEntry, .connectionRefused, .notDirectory: self = .notListening(path: path)
        case .access, .permission: self = .notAllowed(path: path)
        case .wouldBlock: self = .busy(path: path)
        default: self = .failed(path: path, errno: errno)
        }
    }
}

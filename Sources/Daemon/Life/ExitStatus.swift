/// The daemon's exit statuses (sysexits.h).
package enum ExitStatus: Int32, Sendable {
    case stopped = 0
    /// A broken promise of the program's own.
    case bug = 70
    /// A socket's path holds something else, or a live daemon.
    case socketTaken = 73
    /// The queue's directory is missing, not ours, locked or of unknown format.
    case queue = 74
    case permission = 77
    case configuration = 78
    case usage = 2
}

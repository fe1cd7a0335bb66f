/// How uplinkctl ends; from 65 on as in sysexits.h.
package enum ExitStatus: Int32, Sendable {
    case success = 0
    case failed = 1
    case usage = 2
    /// `status`: the daemon is not running.
    case notRunning = 3
    /// `status --check`: something needs a person.
    case needsAttention = 4
    case badEvent = 65
    case unreachable = 69
    case tryLater = 75
    case notAllowed = 77
}

internal import CSystemd
package import Posix
internal import Time

/// Tells the service manager how the daemon is (sd_notify(3)); does nothing where none asks, and never waits.
package struct ServiceManager: Sendable {
    /// How often it wants a sign of life, which is best given every half of it; nil: never.
    package let watchdogInterval: Duration?

    /// The manager that the environment names.
    package init() {
        let microseconds = cs_watchdog_microseconds()
        watchdogInterval = microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// The daemon serves, after its start or a reload; false where the manager does not read, and is to be told again.
    package func ready(status: String) -> Bool { send(["READY=1", Self.status(status)]) }

    /// A sentence for `systemctl status`; at most one a second, please.
    package func status(_ text: String) { send([Self.status(text)]) }

    /// A reload has begun; `ready` ends it, also where it failed.
    package func reloading() {
        send(["RELOADING=1", "MONOTONIC_USEC=\(Clock.monotonicNanoseconds / 1_000)"])
    }

    /// The daemon is about to end.
    package func stopping(status: String) { send(["STOPPING=1", Self.status(status)]) }

    /// The start or the stop may last `span` more from now.
    package func extendTimeout(by span: Duration, status: String) {
        send(["EXTEND_TIMEOUT_USEC=\(span.nanoseconds / 1_000)", Self.status(status)])
    }

    /// A sign of life.
    package func feedWatchdog() { send(["WATCHDOG=1"]) }

    /// A start that fails: why, for `systemctl status`.
    package func failed(status: String, errno: Errno?) {
        send([Self.status(status)] + (errno.map { ["ERRNO=\($0.code)"] } ?? []))
    }

    /// False where the manager's queue is full.
    @discardableResult
    private func send(_ lines: [String]) -> Bool {
        Errno(code: -(unsafe cs_notify(lines.joined(separator: "\n")))) != .wouldBlock
    }

    /// One line of at most 1,024 bytes: the manager refuses datagrams over 4,096.
    static func status(_ text: String) -> String {
        "STATUS=" + Printable.line(text, limit: 1_024)
    }
}

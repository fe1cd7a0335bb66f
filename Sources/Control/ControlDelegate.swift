package import HTTPServer

/// What the control socket asks of the daemon; called on the loop's thread.
package protocol ControlDelegate: AnyObject {
    /// Puts together all that is known now and calls `done` once, now or later, on the loop's thread.
    func status(_ done: @escaping (StatusReport) -> Void)
    /// The threads make progress.
    var isAlive: Bool { get }
    /// The queue takes events; being offline does not matter.
    var isReady: Bool { get }
    /// Tries a destination at once; false where there is none of that name.
    func flush(destination: String) -> Bool
    /// Carries out an order and calls `done` once, now or later, on the loop's thread.
    func carryOut(_ order: OperatorOrder, _ done: @escaping (OperatorAnswer) -> Void)
    /// Writes a line for each change to the stream that `begin` gives, while it is open; false where too many watch.
    func watch(_ begin: () -> HTTPStream?) -> Bool
    /// Reads the configuration anew and calls `done` once, now or later, on the loop's thread.
    func reload(_ done: @escaping (ReloadVerdict) -> Void)
}

/// What came of a reload; problems as `file:line:column: message`.
package enum ReloadVerdict: Sendable, Equatable {
    /// It is in force: what changed, what of it needs a restart, and the warnings.
    case taken(changed: [String], needsRestart: [String], warnings: [String])
    /// The old configuration stays in force.
    case refused(errors: [String])
}

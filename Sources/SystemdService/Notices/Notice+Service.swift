package import Posix
internal import Time

extension Notice {
    package static func started(version: String, configuration file: String) -> Notice {
        Notice(.started, [.version: version, .file: file])
    }

    package static func ready(destinations: Int, queued events: UInt64) -> Notice {
        Notice(.ready, [.count: String(destinations), .events: String(events)])
    }

    /// The end has begun; `reason` is a signal's name, or another short cause.
    package static func stopping(reason: String) -> Notice { Notice(.stopping, [.reason: reason]) }

    package static func stopped(queued events: UInt64) -> Notice { Notice(.stopped, [.events: String(events)]) }

    package static func startFailed(_ detail: String, errno: Errno? = nil) -> Notice {
        Notice(.startFailed, [.detail: detail, .errno: errno.map { String($0.code) }])
    }

    /// A problem of the configuration at `place`, which is `file:line:column`.
    package static func configurationProblem(isError: Bool, at place: String, _ message: String) -> Notice {
        Notice(isError ? .configurationError : .configurationWarning, [.place: place, .detail: message])
    }

    /// A reload that was taken; `changes` are sentences, most telling first.
    package static func reloaded(changes: [String]) -> Notice {
        Notice(.reloaded, [.detail: changes.isEmpty ? "nothing changed" : changes.joined(separator: "; ")])
    }

    package static func reloadRefused(errors: Int, first: String) -> Notice {
        Notice(.reloadRefused, [.detail: errors == 1 ? first : "\(errors) errors, the first: \(first)"])
    }

    /// A token or certificate file that cannot be used; `setting` is the key that names it.
    package static func fileUnreadable(_ file: String, setting: String, detail: String) -> Notice {
        Notice(.fileUnreadable, [.file: file, .setting: setting, .detail: detail])
    }

    package static func loopStalled(_ span: Duration) -> Notice { Notice(.loopStalled, [.seconds: seconds(span)]) }

    package static func clock(isSynchronised: Bool) -> Notice {
        Notice(isSynchronised ? .clockSynchronised : .clockUnsynchronised)
    }

    static func linesDropped(_ count: Int) -> Notice { Notice(.linesDropped, [.count: String(count)]) }

    /// Seconds: with three decimals below 1, with one below 100, else whole.
    static func seconds(_ span: Duration) -> String {
        let (whole, attoseconds) = span.components
        guard whole < 1 else {
            return whole < 100 ? "\(whole).\(attoseconds / 100_000_000_000_000_000)" : "\(whole)"
        }
        let milliseconds = String(max(0, span.milliseconds))
        return "0." + String(repeating: "0", count: 3 - milliseconds.utf8.count) + milliseconds
    }
}

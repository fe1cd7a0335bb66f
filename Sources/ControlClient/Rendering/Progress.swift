internal import Posix
internal import Time

/// How far something has come, on one line of a terminal's standard error that is gone at the end.
final class Progress {
    private static let cells: Int64 = 30
    private static let interval = Duration.milliseconds(100)

    private let console: Console
    private let unit: String
    private var due: Instant
    private var width = 0

    /// Shows nothing unless standard error is a terminal, and nothing within `delay`; `unit` is what is counted.
    init(_ console: Console, _ unit: String, after delay: Duration = .milliseconds(300)) {
        self.console = console
        self.unit = unit
        due = Clock.now + delay
    }

    /// So many of `total` are done.
    func show(_ done: Int64, of total: Int64) {
        guard console.showsProgress, total > 0, Clock.now >= due else { return }
        due = Clock.now + Self.interval
        let reached = max(0, min(done, total))
        let filled = Int(Double(reached) / Double(total) * Double(Self.cells))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Int(Self.cells) - filled)
        let share = Quantity.share(reached, of: total) ?? ""
        write("[\(bar)] \(share), \(Quantity.count(reached)) of \(Quantity.count(total)) \(unit)")
    }

    /// Takes the line away.
    func clear() {
        guard width > 0 else { return }
        write("")
        console.explain("\r")
    }

    /// What was longer before is written over.
    private func write(_ text: String) {
        console.explain("\r" + text + String(repeating: " ", count: max(0, width - text.count)))
        width = text.count
    }
}

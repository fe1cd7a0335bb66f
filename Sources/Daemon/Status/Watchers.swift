internal import Control
internal import HTTPServer
internal import Time

/// Those who watch changes as they come.
struct Watchers {
    /// The control socket has connections for others, too.
    private static let atMost = 8

    private var streams: [HTTPStream] = []

    /// Adds the one that `begin` gives; false where too many are there.
    mutating func add(_ begin: () -> HTTPStream?) -> Bool {
        for stream in streams { stream.closeIfUnread() }
        streams.removeAll { !$0.isOpen }
        guard streams.count < Self.atMost else { return false }
        if let stream = begin() { streams.append(stream) }
        return true
    }

    /// Writes a line to each.
    mutating func tell(_ change: Change, at time: WallTime) {
        guard !streams.isEmpty else { return }
        streams.removeAll { !$0.isOpen }
        let line = change.line(at: time)
        for stream in streams { stream.write(line) }
    }
}

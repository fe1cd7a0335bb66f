package import Time

/// For how long the queue has room, if nothing leaves and events come as they did over the last day.
package struct RoomEstimate {
    /// So far apart what was written is noted, and so long it is before anything is said.
    private static let step = Duration.seconds(600)
    private static let day = Duration.seconds(86_400)
    /// Normal events are refused from here on, in hundredths of what the queue may come to (rule 15 of the queue).
    private static let limit: UInt64 = 95

    /// What was written by when, since the start; the first is a day old, or the oldest.
    private var samples: [(at: Instant, bytes: UInt64)]

    /// Begins with nothing written.
    package init(at now: Instant) { samples = [(now, 0)] }

    /// Takes how many bytes the log has been given since the start.
    package mutating func take(written bytes: UInt64, at now: Instant) {
        guard let last = samples.last, now - last.at >= Self.step else { return }
        samples.append((now, bytes))
        let recent = samples.firstIndex { now - $0.at <= Self.day } ?? samples.count - 1
        samples.removeFirst(max(0, recent - 1))
    }

    /// The time until a queue that has taken `written` and holds `bytes` of `maximum` refuses normal events; nil within
    /// the first ten minutes, and where nothing came.
    package func room(written: UInt64, bytes: UInt64, of maximum: UInt64, at now: Instant) -> Duration? {
        guard let first = samples.first(where: { now - $0.at <= Self.day }) ?? samples.last else { return nil }
        let span = now - first.at
        guard span >= Self.step, written > first.bytes else { return nil }
        let end = maximum / 100 * Self.limit
        let left = Double(end > bytes ? end - bytes : 0)
        let seconds = left * Double(span.milliseconds) / 1_000 / Double(written - first.bytes)
        return .seconds(Int64(min(seconds, 1e12)))
    }
}

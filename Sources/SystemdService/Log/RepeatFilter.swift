internal import Time

/// Holds back repeats of a notice.
///
/// Of notices that agree in what distinguishes them, the first is written at once, and the last of the minute that
/// follows when it is over, saying how many of them came since and how long ago it was so. While that goes on, the next
/// spans are two and four minutes. What is held back is let go when something newer is known of the same state, so that
/// the last word on a state is the newest.
struct RepeatFilter {
    private struct Window {
        var end: Instant
        let span: Duration
        var held: (notice: Notice, since: Instant)?
        /// How many came since the last that was written, whether or not they were let go.
        var count = 0
        var hasRepeats = false

        /// What is held back, as it is to be written.
        func written(at now: Instant) -> Notice? {
            held.map { $0.notice.standing(for: count, after: now - $0.since) }
        }
    }

    static let span: Duration = .seconds(60)
    static let longestSpan: Duration = .seconds(240)
    /// The most kinds and places told apart; what is beyond is written unfiltered.
    static let capacity = 256

    private var windows: [[String]: Window] = [:]

    /// Takes a notice; what is to be written now, for which `due(at:)` was asked before.
    mutating func handle(_ notice: Notice, at now: Instant) -> Notice? {
        let end = notice.stateKey.flatMap { state in letGo { $0.stateKey == state } }
        guard let key = notice.repeatKey else { return notice }
        guard var window = windows[key] else {
            if windows.count < Self.capacity { windows[key] = Window(end: now + Self.span, span: Self.span) }
            return notice
        }
        window.held = (notice, now)
        window.count += 1
        window.hasRepeats = true
        // The newest word is not later than the one that it overtook would have been.
        if let end { window.end = min(window.end, end) }
        windows[key] = window
        return nil
    }

    /// Lets go of what is held back of some subjects, where it has these fields: it may be so no more.
    mutating func overtake(_ subjects: Set<NoticeKind.Subject>, where fields: [NoticeField: String]) {
        _ = letGo { $0.tells(of: subjects, where: fields) }
    }

    /// Lets go of what is held back and meant; when it would have been written.
    private mutating func letGo(where isMeant: (Notice) -> Bool) -> Instant? {
        var end: Instant?
        for (key, window) in windows {
            guard let held = window.held, isMeant(held.notice) else { continue }
            end = min(end ?? window.end, window.end)
            windows[key]?.held = nil
        }
        return end
    }

    /// What was held back in the spans that are over, the oldest first; one with repeats begins a longer one.
    mutating func due(at now: Instant) -> [Notice] {
        let ended = windows.filter { $0.value.end <= now }.sorted { $0.value.end < $1.value.end }
        var written: [Notice] = []
        for (key, window) in ended {
            windows[key] = nil
            guard window.hasRepeats else { continue }
            let span = min(window.span * 2, Self.longestSpan)
            var next = Window(end: now + span, span: span)
            if let notice = window.written(at: now) { written.append(notice) } else { next.count = window.count }
            windows[key] = next
        }
        return written
    }

    /// All that is held back, at the end.
    mutating func rest(at now: Instant) -> [Notice] {
        let held = windows.values.sorted { $0.end < $1.end }
        windows.removeAll()
        return held.compactMap { $0.written(at: now) }
    }

    /// When `due(at:)` has something to say; nil while nothing is held back.
    var nextDue: Instant? { windows.values.filter { $0.held != nil }.map(\.end).min() }
}

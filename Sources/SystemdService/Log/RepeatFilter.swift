internal import Time

/// Holds back repeats of a notice.
///
/// Of notices that agree in what distinguishes them, the first is written at once, and the last of the minute that
/// follows when it is over, saying how many it stands for. While that goes on, the next spans are two and four minutes.
/// What is held back is let go when something newer is told of the same state, which then stands for it too, so that
/// the last word on a state is the newest.
struct RepeatFilter {
    private struct Window {
        var end: Instant
        let span: Duration
        var held: Notice?
        var count = 0
        var hasRepeats = false
    }

    static let span: Duration = .seconds(60)
    static let longestSpan: Duration = .seconds(240)
    /// The most kinds and places told apart; what is beyond is written unfiltered.
    static let capacity = 256

    private var windows: [[String]: Window] = [:]

    /// Takes a notice; what is to be written now, for which `due(at:)` was asked before.
    mutating func handle(_ notice: Notice, at now: Instant) -> Notice? {
        guard let key = notice.repeatKey else { return notice }
        let outdated = takeOutdated(by: notice)
        if windows[key] != nil {
            windows[key]?.held = notice
            windows[key]?.count += 1 + outdated.count
            windows[key]?.hasRepeats = true
            if let window = windows[key], let end = outdated.end { windows[key]?.end = min(window.end, end) }
            return nil
        }
        if windows.count < Self.capacity { windows[key] = Window(end: now + Self.span, span: Self.span) }
        return outdated.count > 0 ? notice.standing(for: 1 + outdated.count) : notice
    }

    /// Lets go of what was held back of the same state; how many that stood for, and when it would have been written.
    private mutating func takeOutdated(by notice: Notice) -> (count: Int, end: Instant?) {
        guard let state = notice.stateKey else { return (0, nil) }
        var count = 0
        var end: Instant?
        for (key, window) in windows where window.held?.stateKey == state {
            count += window.count
            end = window.end
            windows[key]?.held = nil
            windows[key]?.count = 0
        }
        return (count, end)
    }

    /// What was held back in the spans that are over, the oldest first; one with repeats begins a longer one.
    mutating func due(at now: Instant) -> [Notice] {
        let ended = windows.filter { $0.value.end <= now }.sorted { $0.value.end < $1.value.end }
        var written: [Notice] = []
        for (key, window) in ended {
            windows[key] = nil
            guard window.hasRepeats else { continue }
            if let held = window.held { written.append(window.count > 1 ? held.standing(for: window.count) : held) }
            let span = min(window.span * 2, Self.longestSpan)
            windows[key] = Window(end: now + span, span: span)
        }
        return written
    }

    /// All that is held back, at the end.
    mutating func rest() -> [Notice] {
        let held = windows.values.sorted { $0.end < $1.end }
        windows.removeAll()
        return held.compactMap { window in
            window.held.map { window.count > 1 ? $0.standing(for: window.count) : $0 }
        }
    }

    /// When `due(at:)` has something to say; nil while nothing is held back.
    var nextDue: Instant? { windows.values.filter { $0.held != nil }.map(\.end).min() }
}

package import Posix
internal import Time

/// The thread that writes the log; any thread may hand it notices, and none ever waits for the journal.
package final class LogThread: Sendable {
    private enum Word {
        case notice(Notice)
        /// What is held back of these subjects, with these fields, is not to be written any more.
        case overtaken(Set<NoticeKind.Subject>, [NoticeField: String])
    }

    private struct State {
        var waiting: [Word] = []
        var dropped = 0
        var isStopping = false
        var hasEnded = false
    }

    /// The most that waits for the thread; more is dropped, and notices are counted.
    package static let capacity = 1_024

    private let state: Lock<State>

    /// A running thread that writes to `target`.
    package convenience init(_ target: LogTarget = .chosen()) throws(Errno) {
        let writer = LogWriter(target: target)
        try self.init { writer.write($0) }
    }

    /// A running thread that writes with `write`, which may block.
    init(_ write: @escaping @Sendable (Notice) -> Void) throws(Errno) {
        let state = Lock(State())
        self.state = state
        _ = try Thread(name: "log") { Self.run(state, write) }
    }

    /// Hands a notice over; only waits for another that does the same.
    package func log(_ notice: Notice) {
        state.with { state in
            guard !state.isStopping else { return }
            if state.waiting.count < Self.capacity {
                state.waiting.append(.notice(notice))
            } else {
                state.dropped += 1
            }
        }
        state.wake()
    }

    /// Lets go of held-back repeats on some subjects, where they have these fields: they may be so no more.
    ///
    /// What is so is logged after it.
    package func overtake(_ subjects: Set<NoticeKind.Subject>, where fields: [NoticeField: String] = [:]) {
        state.with { state in
            guard !state.isStopping, state.waiting.count < Self.capacity else { return }
            state.waiting.append(.overtaken(subjects, fields))
        }
        state.wake()
    }

    /// Takes no more notices and waits, at most for `span`, until those taken are written; false if they are not.
    @discardableResult
    package func flushAndStop(atMost span: Duration) -> Bool {
        state.with { $0.isStopping = true }
        state.wake()
        return state.wait(until: { $0.hasEnded }, atMost: span) { $0.hasEnded }
    }

    private static func run(_ state: Lock<State>, _ write: (Notice) -> Void) {
        var filter = RepeatFilter()
        var isStopping = false
        while !isStopping {
            let (taken, dropped, stops) = next(state, filter.nextDue)
            isStopping = stops
            filter.due(at: Clock.now).forEach(write)
            for word in taken {
                switch word {
                case .notice(let notice):
                    if notice.kind == .stopped { filter.rest(at: Clock.now).forEach(write) }
                    filter.handle(notice, at: Clock.now).map(write)
                case .overtaken(let subjects, let fields): filter.overtake(subjects, where: fields)
                }
            }
            if dropped > 0 { write(.linesDropped(dropped)) }
        }
        filter.rest(at: Clock.now).forEach(write)
        state.with { $0.hasEnded = true }
        state.wake()
    }

    /// What came, once something came, or `due` has.
    private static func next(
        _ state: Lock<State>, _ due: Instant?
    ) -> (taken: [Word], dropped: Int, stops: Bool) {
        func take(_ state: inout State) -> (taken: [Word], dropped: Int, stops: Bool) {
            let result = (state.waiting, state.dropped, state.isStopping)
            state.waiting = []
            state.dropped = 0
            return result
        }
        guard let due else { return state.wait(until: { !$0.waiting.isEmpty || $0.isStopping }) { take(&$0) } }
        return state.wait(until: { !$0.waiting.isEmpty || $0.isStopping }, atMost: due - Clock.now) { take(&$0) }
    }
}

package import Posix
internal import Time

/// The thread that writes the log; any thread may hand it notices, and none ever waits for the journal.
package final class LogThread: Sendable {
    private struct State {
        var waiting: [Notice] = []
        var dropped = 0
        var isStopping = false
        var hasEnded = false
    }

    /// The most notices that wait to be written; more are dropped, and counted.
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
            if state.waiting.count < Self.capacity { state.waiting.append(notice) } else { state.dropped += 1 }
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
            for notice in taken {
                if notice.kind == .stopped { filter.rest().forEach(write) }
                filter.handle(notice, at: Clock.now).map(write)
            }
            if dropped > 0 { write(.linesDropped(dropped)) }
        }
        filter.rest().forEach(write)
        state.with { $0.hasEnded = true }
        state.wake()
    }

    /// What came, once something came, or `due` has.
    private static func next(
        _ state: Lock<State>, _ due: Instant?
    ) -> (taken: [Notice], dropped: Int, stops: Bool) {
        func take(_ state: inout State) -> (taken: [Notice], dropped: Int, stops: Bool) {
            let result = (state.waiting, state.dropped, state.isStopping)
            state.waiting = []
            state.dropped = 0
            return result
        }
        guard let due else { return state.wait(until: { !$0.waiting.isEmpty || $0.isStopping }) { take(&$0) } }
        return state.wait(until: { !$0.waiting.isEmpty || $0.isStopping }, atMost: due - Clock.now) { take(&$0) }
    }
}

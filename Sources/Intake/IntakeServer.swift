package import Queue
package import Reactor
package import Time

/// Counts of intake since the start.
package struct IntakeStatistics: Sendable, Hashable {
    /// Events made durable.
    package var accepted: UInt64 = 0
    /// Requests and lines that were answered with an error.
    package var refused: UInt64 = 0
    /// Events that were there already.
    package var duplicates: UInt64 = 0
    /// Connections that are open.
    package var connections = 0
}

/// The events socket: takes clients, gives their events to admission, and answers once a commit is settled.
///
/// It lives on the loop's thread. Whoever drives the disk calls `Admission.seal`, and then `settled` with the outcome.
package final class IntakeServer {
    package let limits: IntakeLimits
    let loop: EventLoop
    let admission: Admission
    let clock: () -> WallTime?
    var turn: SessionTurn
    private(set) var isStopping = false
    var listeners: [StreamListener] = []
    var connections: [UInt64: IntakeConnection] = [:]
    /// Connections that are served, by user.
    var users: [UInt32: Int] = [:]
    var served = 0
    var nextNumber: UInt64 = 1
    private var waiting: [(ordinal: UInt64, connection: IntakeConnection)] = []
    /// Those whose requests repeat events that wait for their commit.
    private var repeating: [IntakeConnection] = []
    /// Connections that wait to be served.
    var order = ServingOrder()
    var share = CommitShare()
    var servesSoon = false
    private var memory: UnfinishedMemory
    private var timer: (token: TimerToken, at: Instant)?

    /// A server without a socket; `clock` gives the wall time, nil while it is not synchronised.
    package init(
        loop: EventLoop, admission: Admission, limits: IntakeLimits, clock: @escaping () -> WallTime?
    ) {
        self.loop = loop
        self.admission = admission
        self.limits = limits
        self.clock = clock
        turn = SessionTurn(admission: admission, limits: limits)
        memory = UnfinishedMemory(limit: limits.unfinishedBytes)
        admission.whenSealed = { [weak self] in self?.renewShares() }
        loop.afterReady = { [weak self] in self?.serve() }
    }

    /// Counts since the start.
    package var statistics: IntakeStatistics {
        IntakeStatistics(
            accepted: turn.accepted, refused: turn.refused, duplicates: turn.duplicates,
            connections: connections.count)
    }

    /// After `stop`: every client has had its answers.
    package var isDrained: Bool { isStopping && connections.isEmpty }

    /// Answers those that wait for a commit; `outcomes` are those of its batches, in the order they were sealed in.
    ///
    /// Call it before the next commit is sealed: where a log was refused, what is open for it is refused as well, for
    /// nothing of a connection is taken after a line that was refused.
    package func settled(ordinal: UInt64, outcomes: [BatchOutcome]) {
        let settlement = admission.settle(ordinal: ordinal, outcomes)
        var refused: [LogName: Refusal] = [:]
        for (sealed, outcome) in zip(admission.sealed, outcomes) {
            if case .refused(let refusal) = outcome { refused[sealed.log] = refusal }
        }
        let count = waiting.prefix { $0.ordinal <= ordinal }.count
        let woken = waiting.prefix(count).map(\.connection)
        waiting.removeFirst(count)
        for connection in woken { connection.settle(settlement) }
        if !refused.isEmpty { refuseOpen(refused) }
        for connection in woken { goOn(connection) }
        serveRepeating()
    }

    /// Ends a connection that has had its last answer; lets one that has input left take its turn.
    private func goOn(_ connection: IntakeConnection) {
        if connection.stream.inputCount > 0 { queue(connection) } else { work(connection) }
    }

    /// Takes no new clients; those that are there get their answers and are closed.
    package func stop() {
        guard !isStopping else { return }
        isStopping = true
        for listener in listeners { listener.stop() }
        listeners = []
        for connection in Array(connections.values) { connection.stop(.stopping) }
    }

    /// Refuses events that are open in these logs.
    package func refuseOpen(_ refused: [LogName: Refusal]) {
        let settlement = admission.refuseOpen(refused)
        share.renew()
        guard let settlement else { return }
        for (_, connection) in waiting { connection.settle(settlement) }
        for (_, connection) in waiting { goOn(connection) }
        serveRepeating()
    }

    /// What a repeat waited for may have been decided.
    private func serveRepeating() {
        for connection in repeating { queue(connection) }
        repeating = []
        serveSoon()
    }

    var now: Instant { loop.now }

    /// Lets a connection work, at the present wall time.
    func work(_ connection: IntakeConnection) {
        turn.acceptedAt = clock()
        connection.work()
    }

    /// Has a connection told what becomes of the open commit.
    func wakeAtCommit(_ connection: IntakeConnection) {
        guard connection.waitsFor < admission.openOrdinal else { return }
        connection.waitsFor = admission.openOrdinal
        waiting.append((admission.openOrdinal, connection))
    }

    /// Has a connection work again when the next commit is settled, or open events are refused.
    func wakeWhenSettled(_ connection: IntakeConnection) { repeating.append(connection) }

    /// Counts the bytes that a connection holds of what is unfinished; ends those that must make room.
    func hold(_ bytes: Int, by connection: IntakeConnection) {
        for number in memory.hold(bytes, by: connection.stream.number, of: connection.user) {
            connections[number]?.giveUp()
        }
    }

    /// Has connections looked at for slowness at `deadline`, or before.
    func watch(_ deadline: Instant) {
        if let timer {
            guard deadline < timer.at else { return }
            loop.cancel(timer.token)
        }
        timer = (loop.schedule(at: deadline) { [weak self] in self?.expire() }, deadline)
    }

    private func expire() {
        timer = nil
        var next = Instant.distantFuture
        for connection in Array(connections.values) {
            if connection.deadline <= loop.now { connection.expire() }
            if connection.stream.isOpen { next = min(next, connection.deadline) }
        }
        if next < .distantFuture { watch(next) }
    }
}

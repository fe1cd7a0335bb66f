internal import Posix
internal import Reactor
internal import Time

extension IntakeServer {
    /// For how long connections are served in a turn of the loop: what was taken is committed, and what was committed
    /// is answered, only at its end.
    private static let servingTime = Duration.microseconds(500)

    /// Has a connection served when its turn comes; call `serveSoon` where the loop may not turn by itself.
    func queue(_ connection: IntakeConnection) {
        guard !connection.isQueued else { return }
        connection.isQueued = true
        order.add(connection.stream.number, of: connection.user)
    }

    /// Serves those that wait until the time is over or enough waits for the commit.
    ///
    /// Where others wait, one whose connection may have more waits again at once, so that a user with one connection
    /// gets as much as another with many.
    func serve() {
        guard !order.isEmpty else { return }
        let began = Clock.now
        var now = began
        var full = share.full(at: loop.now)
        while now - began < Self.servingTime, !admission.isFull, let next = order.next({ !full.contains($0) }) {
            let before = admission.waitingBytes
            if let connection = connections[next.connection] {
                connection.isQueued = false
                if connection.serve(), !order.isEmpty { queue(connection) }
            }
            share.take(admission.waitingBytes - before, of: next.user, at: loop.now)
            full = share.full(at: loop.now)
            let end = Clock.now
            order.charge(next.user, end - now)
            now = end
        }
        // The loop would find them ready at each turn.
        for number in order.all { connections[number]?.holdBack() }
        if !admission.isFull, order.holds({ !full.contains($0) }) { serveSoon() }
    }

    /// Has `serve` called in the next turn of the loop, which first finds who else has come.
    func serveSoon() {
        guard !order.isEmpty, !servesSoon else { return }
        servesSoon = true
        loop.schedule(at: loop.now + .nanoseconds(1)) { [weak self] in
            self?.servesSoon = false
            self?.serve()
        }
    }

    /// The open commit is another one.
    func renewShares() {
        share.renew()
        serveSoon()
    }
}

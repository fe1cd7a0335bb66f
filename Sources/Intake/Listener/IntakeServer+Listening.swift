package import Posix
package import Reactor

extension IntakeServer {
    /// Serves a listening socket; several may be served.
    package func listen(taking socket: consuming FileDescriptor) throws(Errno) {
        precondition(!isStopping)
        listeners.append(
            try StreamListener(taking: socket, on: loop) { [weak self] client in self?.accept(client) })
    }

    private func accept(_ client: consuming FileDescriptor) {
        guard let user = (try? client.peerCredentials())?.user else { return }
        let isOverUser = users[user, default: 0] >= limits.maximumConnectionsPerUser
        let isOver = served >= limits.maximumConnections
        if isOver || isOverUser {
            guard connections.count - served < limits.maximumTurnedAway else { return }
        }
        let number = nextNumber
        nextNumber += 1
        guard let stream = try? StreamConnection(taking: client, number: number, on: loop) else { return }
        stream.delegate = self
        let connection = IntakeConnection(
            stream, user: user, server: self, turnedAway: isOver || isOverUser ? isOverUser : nil)
        connections[number] = connection
        if isOver || isOverUser {
            turn.refused += 1
        } else {
            served += 1
            users[user, default: 0] += 1
        }
    }
}

extension IntakeServer: StreamConnectionDelegate {
    package func becameReadable(_ connection: StreamConnection) {
        if let connection = connections[connection.number] { queue(connection) }
    }

    /// Who read it works with it.
    package func received(on connection: StreamConnection) {}

    /// Who read it works with it.
    package func inputEnded(on connection: StreamConnection) {}

    package func outputDrained(on connection: StreamConnection) {
        if let connection = connections[connection.number] { queue(connection) }
    }

    package func closed(_ connection: StreamConnection) {
        guard let connection = connections.removeValue(forKey: connection.number) else { return }
        hold(0, by: connection)
        guard connection.isServed else { return }
        served -= 1
        let left = users[connection.user, default: 1] - 1
        users[connection.user] = left > 0 ? left : nil
    }
}

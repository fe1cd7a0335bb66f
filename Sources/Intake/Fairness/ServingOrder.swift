/// Whose turn it is: of those that wait, the user that the loop has worked for least, and of its connections one after
/// the other; pure.
///
/// Time that a user has not used is not saved up: one that comes, or comes back, begins with those that are there.
struct ServingOrder {
    private struct User {
        var connections: [UInt64]
        /// Time that it was served for, counted as fair queueing does.
        var served: Duration
    }

    private var waiting: [UInt32: User] = [:]
    /// The same time of users that wait no more; those behind `least` need not be known.
    private var gone: [UInt32: Duration] = [:]
    /// That of the user that was served last.
    private var least = Duration.zero

    /// Nobody waits.
    var isEmpty: Bool { waiting.isEmpty }

    /// The numbers of all connections that wait.
    var all: [UInt64] { waiting.values.flatMap(\.connections) }

    /// Has a connection that does not wait yet wait behind those of its user.
    mutating func add(_ connection: UInt64, of user: UInt32) {
        if waiting[user] == nil {
            waiting[user] = User(connections: [], served: max(least, gone.removeValue(forKey: user) ?? .zero))
        }
        waiting[user]?.connections.append(connection)
    }

    /// True where one of the users that `mayServe` names waits.
    func holds(_ mayServe: (UInt32) -> Bool) -> Bool { waiting.keys.contains(where: mayServe) }

    /// Takes out the next connection of a user that `mayServe` names; `charge` must follow.
    mutating func next(_ mayServe: (UInt32) -> Bool) -> (connection: UInt64, user: UInt32)? {
        let able = waiting.filter { mayServe($0.key) }
        guard let user = able.min(by: { ($0.value.served, $0.key) < ($1.value.served, $1.key) })?.key,
            let connection = waiting[user]?.connections.removeFirst()
        else { return nil }
        least = max(least, waiting[user]?.served ?? .zero)
        return (connection, user)
    }

    /// Counts for how long a connection of a user was served, after `next` has given it out.
    mutating func charge(_ user: UInt32, _ time: Duration) {
        guard let known = waiting[user] else { return }
        waiting[user]?.served += time
        guard known.connections.isEmpty else { return }
        waiting[user] = nil
        gone = gone.filter { $0.value > least }
        gone[user] = known.served + time
    }
}

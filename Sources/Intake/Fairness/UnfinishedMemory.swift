/// The memory that all requests and lines share while their ends have not come; pure.
///
/// Nobody waits for it. Where a connection needs more than is left, the largest request of the user that holds the
/// most is given up, so that no user with less than an equal share is ever refused.
struct UnfinishedMemory {
    /// Bytes for all.
    let limit: Int
    /// Bytes held by all.
    private(set) var total = 0
    private var users: [UInt32: Int] = [:]
    private var connections: [UInt64: (user: UInt32, bytes: Int)] = [:]

    init(limit: Int) { self.limit = limit }

    /// Has a connection hold so many bytes instead of what it held; the connections to give up, perhaps itself, which
    /// hold nothing any more.
    mutating func hold(_ bytes: Int, by connection: UInt64, of user: UInt32) -> [UInt64] {
        let before = connections[connection]?.bytes ?? 0
        set(bytes, for: connection, of: user)
        var givenUp: [UInt64] = []
        // What shrinks makes nobody wait.
        while total > limit, bytes > before, let next = largest() {
            set(0, for: next, of: connections[next]?.user ?? user)
            givenUp.append(next)
        }
        return givenUp
    }

    private mutating func set(_ bytes: Int, for connection: UInt64, of user: UInt32) {
        let change = bytes - (connections[connection]?.bytes ?? 0)
        guard change != 0 else { return }
        total += change
        let sum = users[user, default: 0] + change
        users[user] = sum > 0 ? sum : nil
        connections[connection] = bytes > 0 ? (user, bytes) : nil
    }

    /// The connection that holds the most of those of the user that holds the most.
    private func largest() -> UInt64? {
        guard let user = users.max(by: { ($0.value, $0.key) < ($1.value, $1.key) })?.key else { return nil }
        return connections.filter { $0.value.user == user }.max {
            ($0.value.bytes, $0.key) < ($1.value.bytes, $1.key)
        }?.key
    }
}

internal import Time

/// How much of a commit each user may fill, so that one that fills commits does not slow down those of others; pure.
struct CommitShare {
    /// Bytes of records of one user in a commit, where others post, too: about what costs as long as a sync.
    static let bytes = 65_536
    /// Whoever has posted within this time counts, also where the answers to it were slow.
    private static let recent = Duration.seconds(2)

    private var taken: [UInt32: Int] = [:]
    private var newest: [UInt32: Instant] = [:]

    /// Counts what a user has put into the open commit.
    mutating func take(_ bytes: Int, of user: UInt32, at now: Instant) {
        guard bytes > 0 else { return }
        taken[user, default: 0] += bytes
        newest[user] = now
    }

    /// The users that may put no more into the open commit.
    mutating func full(at now: Instant) -> Set<UInt32> {
        if newest.count > 1 { newest = newest.filter { now - $0.value < Self.recent } }
        guard newest.count > 1 else { return [] }
        return Set(taken.filter { $0.value >= Self.bytes }.keys)
    }

    /// Begins with the next commit.
    mutating func renew() { taken.removeAll(keepingCapacity: true) }
}

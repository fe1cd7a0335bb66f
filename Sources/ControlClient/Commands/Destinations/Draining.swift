internal import Time

/// How far what waited when a flush began has left.
struct Draining {
    /// Without any progress for so long what is left waits for something.
    static let patience = Duration.seconds(3)

    private struct Share {
        let name: String
        let queued: Int64
        let settledBefore: Int64
    }

    private let shares: [Share]
    private var changedAt: Instant
    /// Events that have left since, and those that waited.
    private(set) var done: Int64 = 0
    let total: Int64

    /// Counts what these destinations have queued.
    init(_ destinations: [StatusDocument.Destination], at now: Instant) {
        shares = destinations.map { Share(name: $0.name, queued: $0.ledger["queued"] ?? 0, settledBefore: $0.settled) }
        total = shares.reduce(0) { $0 + $1.queued }
        changedAt = now
    }

    /// Takes a later status; true where there is nothing to wait for any more.
    mutating func take(_ status: StatusDocument, at now: Instant) -> Bool {
        let reached = shares.reduce(Int64(0)) { sum, share in
            let settled = status.destinations.first { $0.name == share.name }?.settled ?? share.settledBefore
            return sum + max(0, min(share.queued, settled - share.settledBefore))
        }
        if reached != done { changedAt = now }
        done = reached
        return done >= total || now - changedAt >= Self.patience
    }
}

extension StatusDocument.Destination {
    /// Events that do not wait any more, whatever became of them.
    fileprivate var settled: Int64 { (ledger["accepted"] ?? 0) - (ledger["queued"] ?? 0) }
}

/// What clients, collectors and operators saw, and what they may conclude from it.
struct Truth {
    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    /// What became of the events of one log at one destination, from `base` on, event by event.
    struct Account {
        var base = Slot(generation: 0, low: 1, origin: 0, ledger: Ledger())
        var dispositions: [Disposition] = []
        /// Below this the cursor was synced.
        var durableLow = 1
        /// Below this no event may come again while the daemon lives.
        var low: Int { base.low + dispositions.count }

        func ledger(at low: Int) -> Ledger {
            var ledger = base.ledger
            for disposition in dispositions.prefix(low - base.low) { ledger[disposition] += 1 }
            return ledger
        }
    }

    struct Posted {
        let token: Int
        let epoch: UInt64
    }

    struct Delivery: Hashable {
        let destination: Int
        let log: Int
        let sequence: Int
    }

    struct Place: Hashable {
        let log: Int
        let sequence: Int
    }

    var accounts = [Account](repeating: Account(), count: ModelQueue.destinations * ModelQueue.logs)
    /// What was acknowledged to its client.
    var acknowledged: [Place: Posted] = [:]
    var deadlines: [Int: Int] = [:]
    /// Sequence numbers that an operator asked to purge, and those he has a receipt for.
    var purgeAsked = Set<Place>()
    var purged = Set<Place>()
    var evicted = Set<Place>()
    var damaged = Set<Place>()
    /// What a collector answered with 2xx before any purge.
    var taken = Set<Delivery>()
    /// What each token was called when it was sent.
    private var sentAs: [Int: Posted] = [:]
    private var newestSent: [Int: Int] = [:]
    private var tokensSent: [Int: Set<Int>] = [:]
    /// Whether slots were damaged since the last start.
    var slotsDamaged = false

    subscript(destination: Int, log: Int) -> Account {
        get { accounts[destination * ModelQueue.logs + log] }
        set { accounts[destination * ModelQueue.logs + log] = newValue }
    }
}

extension Truth {
    /// A request leaves.
    mutating func send(_ request: Request, by queue: ModelQueue) throws(Violation) {
        let account = self[request.destination, request.log]
        let key = request.destination * ModelQueue.logs + request.log
        for (sequence, token, epoch) in request.sent {
            let place = Place(log: request.log, sequence: sequence)
            let letter = Letter(
                destination: request.destination, log: request.log, epoch: epoch, sequence: sequence)
            try require(sequence >= account.low, "sends \(place) again though it is settled")
            try require(!purged.contains(place), "sends \(place) after the receipt of its purge")
            try require(!queue.letterCells.contains(letter), "sends \(place), a dead letter")
            if let posted = acknowledged[place] {
                try require(posted.token == token, "sends another event as \(place)")
                try require(posted.epoch == epoch, "sends \(place) under another id")
            }
            if let before = sentAs[token] {
                try require(before.epoch == epoch && before.token == sequence, "the id of \(place) changed")
            }
            sentAs[token] = Posted(token: sequence, epoch: epoch)
            // The number of an event that was never acknowledged, and is gone, may have been given again; and a commit
            // made again may have healed a damaged one.
            if acknowledged[place] != nil, !damaged.contains(place), tokensSent[key, default: []].insert(token).inserted
            {
                try require(sequence > newestSent[key, default: 0], "sends \(place) out of order")
                newestSent[key] = sequence
            }
        }
    }

    /// The collector answered 2xx.
    mutating func take(_ request: Request) {
        for item in request.sent {
            let place = Place(log: request.log, sequence: item.sequence)
            // A hole that is damaged in turn can't be told from the event.
            guard !purged.contains(place) || damaged.contains(place) else { continue }
            taken.insert(Delivery(destination: request.destination, log: request.log, sequence: item.sequence))
        }
    }

    /// Checks that each event that a cursor passed had a reason, and that none was passed twice.
    mutating func settle(_ queue: ModelQueue, now: Int) throws(Violation) {
        let letters = queue.settled.isEmpty ? [] : queue.letterCells
        for entry in queue.settled {
            let place = Place(log: entry.log, sequence: entry.sequence)
            let next = self[entry.destination, entry.log].low
            try require(entry.sequence == next, "\(place) is settled, \(next) was due")
            let posted = acknowledged[place]
            let letter = Letter(
                destination: entry.destination, log: entry.log, epoch: posted?.epoch ?? 0, sequence: entry.sequence)
            let isJustified =
                switch entry.disposition {
                case .delivered:
                    taken.contains(
                        Delivery(destination: entry.destination, log: entry.log, sequence: entry.sequence))
                case .dead: posted == nil || letters.contains(letter)
                case .expired: posted.map { deadlines[$0.token].map { $0 <= now } ?? false } ?? true
                case .evicted: evicted.contains(place)
                case .purged: purgeAsked.contains(place)
                case .quarantined: posted == nil || damaged.contains(place)
                }
            try require(isJustified, "\(place) counts as \(entry.disposition) without a reason")
            self[entry.destination, entry.log].dispositions.append(entry.disposition)
        }
        queue.settled = []
    }

    /// The sums, after every step.
    mutating func check(_ queue: ModelQueue) throws(Violation) {
        for log in 0..<ModelQueue.logs {
            let accepted = queue.logs[log].next - 1
            for destination in 0..<ModelQueue.destinations {
                let cursor = queue.cursors[destination, log]
                let name = "destination \(destination), log \(log)"
                let queued = queue.queued(log, from: cursor.slot.low)
                let sum = cursor.slot.origin + cursor.slot.ledger.total + queued
                try require(
                    sum == accepted,
                    "\(name): accepted \(accepted) is not origin \(cursor.slot.origin), \(cursor.slot.ledger), "
                        + "queued \(queued)")
                let account = self[destination, log]
                try require(account.low == cursor.slot.low, "\(name): low \(cursor.slot.low), not \(account.low)")
                try require(
                    account.ledger(at: account.low) == cursor.slot.ledger,
                    "\(name): ledger \(cursor.slot.ledger), not \(account.ledger(at: account.low))")
                self[destination, log].durableLow = max(account.durableLow, cursor.durableLow)
            }
        }
    }

    func require(_ condition: Bool, _ text: @autoclosure () -> String) throws(Violation) {
        if !condition { throw Violation(description: text()) }
    }
}

extension Truth.Place: CustomStringConvertible {
    var description: String { "event \(sequence) of log \(log)" }
}

extension ModelQueue {
    /// The dead letters as a reader finds them on disk.
    var letterCells: Set<Letter> {
        var letters = Set<Letter>()
        for (name, file) in disk.listing {
            guard case .letters = name else { continue }
            for case .letter(let letter) in disk.cells(file) { letters.insert(letter) }
        }
        return letters
    }
}

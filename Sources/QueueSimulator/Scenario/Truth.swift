internal import Queue

/// What clients, collectors and operators saw of a queue, and what they may conclude from it.
struct Truth {
    /// A promise that was not kept.
    struct Violation: Error, CustomStringConvertible {
        enum Kind { case lost, other }
        let kind: Kind
        let description: String
    }

    /// What became of the events of one log at one destination, from `base` on, event by event.
    struct Account {
        var base = CursorView()
        var fates: [Fate] = []
        /// At `low`.
        var ledger = Ledger()
        /// Where it stood after the last call that came to its end.
        var writtenLow = 1
        /// Below this the cursor was synced.
        var durableLow = 1
        /// False until a sync has made the cursor durable.
        var isDurable = false
        /// Below this no event may come again while the process lives.
        var low: Int { base.low + fates.count }

        func ledger(at low: Int) -> Ledger {
            var ledger = base.ledger
            for fate in fates.prefix(low - base.low) { ledger.count(1, as: fate) }
            return ledger
        }
    }

    struct Posted {
        let token: Int
        let epoch: UInt64
    }

    struct Pair: Hashable {
        let destination: Int
        let log: Int
    }

    /// An event at a destination.
    struct Delivery: Hashable {
        let pair: Pair
        let sequence: Int
    }

    struct Place: Hashable, CustomStringConvertible {
        let log: Int
        let sequence: Int

        var description: String { "event \(sequence) of log \(log)" }
    }

    let traits: QueueTraits
    var accounts: [Pair: Account] = [:]
    /// What was acknowledged to its client, log by log.
    var acknowledged: [[Int: Posted]]
    var deadlines: [Int: Int] = [:]
    /// Sequence numbers that an operator asked to purge, and those he has a receipt for.
    var purgeAsked = Set<Place>()
    var purged = Set<Place>()
    /// Those of them that a start did not find any more.
    var purgedOnce = Set<Place>()
    /// The states of consent of the last log's category of which a start may find one.
    var consents: Set<UInt8> = [0]
    /// Logs that may give up events now.
    var evictable = Set<Int>()
    /// Dead letters that were asked for, and those known to be durable.
    var lettersAsked = Set<Delivery>()
    var letters = Set<Delivery>()
    /// Letters of events that an operator has asked to purge: those that were counted dead count as purged.
    var lettersDropped = Set<Delivery>()
    /// What a collector answered with 2xx.
    var taken = Set<Delivery>()
    var injuries: [Injury] = []
    /// Acknowledged events that cannot be read any more.
    var lost: [Set<Int>]
    /// Ranges that the queue has named.
    var named: [[ClosedRange<Int>]]
    /// Whether a process ended before it could tell what it found damaged.
    var mayMissNames = false
    /// What each token was called when it was sent.
    private var sentAs: [Int: Posted] = [:]
    var newestSent: [Pair: Int] = [:]
    private var tokensSent: [Pair: Set<Int>] = [:]
    /// Whether slots were damaged since the last start.
    var slotsDamaged = false
    /// Whether calls of the disk failed since the power went last.
    var hasFailed = false

    init(traits: QueueTraits, logs: Int) {
        self.traits = traits
        acknowledged = Array(repeating: [:], count: logs)
        lost = Array(repeating: [], count: logs)
        named = Array(repeating: [], count: logs)
    }

    func require(_ condition: Bool, _ kind: Violation.Kind, _ text: @autoclosure () -> String) throws(Violation) {
        if !condition { throw Violation(kind: kind, description: text()) }
    }

    func require(_ condition: Bool, _ text: @autoclosure () -> String) throws(Violation) {
        try require(condition, .other, text())
    }
}

extension Truth {
    /// Looks at what was read for a destination from `low` on: no event is left out, every other has a reason.
    mutating func look(at items: [ReadItem], _ pair: Pair, from low: Int, now: Int) throws(Violation) {
        var next = low
        for item in items {
            let place = Place(log: pair.log, sequence: item.sequence)
            try require(item.sequence == next, "\(place) comes where \(next) is due")
            next += 1
            let posted = acknowledged[pair.log][item.sequence]
            switch item.content {
            case .event(let token, let epoch):
                guard let posted else { continue }
                guard posted.token == token else {
                    try require(isRefused(token) && explains(place, posted), .lost, "another event stands for \(place)")
                    try countLoss(of: place)
                    continue
                }
                try require(posted.epoch == epoch, "\(place) has another id")
                try require(!purged.contains(place), "\(place) is there after the receipt of its purge")
                let delivery = Delivery(pair: pair, sequence: item.sequence)
                try require(!letters.contains(delivery), "\(place) is offered though it has a dead letter")
            case .disposed(let fate):
                if fate == .quarantined { try lose(place) }
                try require(isJustified(fate, pair, item.sequence, now: now), "\(place) is \(fate) without a reason")
            }
        }
    }

    /// Takes the loss of an event, which some fault must explain.
    mutating func lose(_ place: Place) throws(Violation) {
        guard let posted = acknowledged[place.log][place.sequence], !purgeAsked.contains(place) else { return }
        try require(explains(place, posted), .lost, "\(place) is lost")
        if traits.namesDamage, !mayMissNames {
            let isNamed = named[place.log].contains { $0.contains(place.sequence) }
            try require(isNamed, "\(place) is quarantined and not named")
        }
        try countLoss(of: place)
    }

    private mutating func countLoss(of place: Place) throws(Violation) {
        guard lost[place.log].insert(place.sequence).inserted else { return }
        let bound = injuries.reduce(0) { $0 + ($1.log == place.log ? $1.most : 0) }
        let count = lost[place.log].count
        try require(count <= bound, .lost, "\(count) events of log \(place.log) are lost, \(bound) may be")
    }

    /// True for an event of a commit that failed.
    ///
    /// It may stand at the end of the segment that was given up, under the number that the next one gave to another.
    /// Where a fault has taken that one whole, nothing tells that it was not acknowledged.
    private func isRefused(_ token: Int) -> Bool {
        !acknowledged.contains { $0.values.contains { $0.token == token } }
    }

    private func explains(_ place: Place, _ posted: Posted) -> Bool {
        injuries.contains { injury in
            injury.log == place.log
                && (injury.tokens.contains(posted.token) || injury.holes.contains(place.sequence)
                    || injury.range?.contains(place.sequence) == true)
        }
    }

    /// A request leaves.
    mutating func send(_ items: [SentItem], _ pair: Pair) throws(Violation) {
        let low = accounts[pair]?.low ?? 1
        for item in items {
            let place = Place(log: pair.log, sequence: item.sequence)
            try require(item.sequence >= low, "sends \(place) again though it is settled")
            if let before = sentAs[item.token] {
                try require(
                    before.epoch == item.epoch && before.token == item.sequence, "the id of \(place) changed")
            }
            sentAs[item.token] = Posted(token: item.sequence, epoch: item.epoch)
            // The number of an event that was never acknowledged, and is gone, may have been given again; and a commit
            // made again may have healed a damaged one.
            let isFirst = tokensSent[pair, default: []].insert(item.token).inserted
            guard isFirst, let posted = acknowledged[pair.log][item.sequence], !lost[pair.log].contains(item.sequence)
            else { continue }
            // A purge that was cut off has made a hole of it in one copy only, which a fault has then taken.
            guard !purgeAsked.contains(place) || !explains(place, posted) else { continue }
            try require(item.sequence > newestSent[pair, default: 0], "sends \(place) out of order")
            newestSent[pair] = item.sequence
        }
    }

    /// The collector answered 2xx.
    mutating func take(_ items: [SentItem], _ pair: Pair) {
        for item in items { taken.insert(Delivery(pair: pair, sequence: item.sequence)) }
    }

    /// The queue is about to be told what became of events; what lies below the cursor stays as it was.
    mutating func settle(_ pair: Pair, _ fates: [(sequence: Int, fate: Fate)], now: Int) throws(Violation) {
        guard var account = accounts[pair] else { return }
        for (sequence, fate) in fates where sequence == account.low {
            try add(fate, to: &account, pair, now: now)
        }
        accounts[pair] = account
    }

    /// The newest event of an account is not settled after all.
    mutating func takeBack(_ pair: Pair) {
        guard var account = accounts[pair] else { return }
        account.fates.removeLast()
        account.ledger = account.ledger(at: account.low)
        accounts[pair] = account
    }

    /// A cursor moved by itself.
    mutating func follow(_ move: Move, _ queue: some QueueUnderTest, now: Int) throws(Violation) {
        let pair = Pair(destination: move.destination, log: move.log)
        guard var account = accounts[pair] else { return }
        try require(
            move.low >= account.low + move.count,
            "\(pair) moved by \(move.count) from \(account.low) to \(move.low)")
        if move.fate == .quarantined {
            for sequence in account.low..<move.low { try lose(Place(log: move.log, sequence: sequence)) }
        }
        try add(move.fate, move.count, upTo: move.low, to: &account, pair, queue, now: now)
        accounts[pair] = account
    }

    /// Counts events up to `low` as disposed of by the queue itself.
    ///
    /// One that has a letter counts as dead whatever the queue meant to do with it; of those that are evicted, which
    /// are `count`, one that was purged counts as that, and one that an operator asked to purge may.
    func add(
        _ fate: Fate, _ count: Int, upTo low: Int, to account: inout Account, _ pair: Pair,
        _ queue: some QueueUnderTest, now: Int
    ) throws(Violation) {
        let sequences = account.low..<low
        let mayBeDead = sequences.contains { lettersAsked.contains(Delivery(pair: pair, sequence: $0)) }
        let dead = mayBeDead ? queue.letters(pair.destination, pair.log) : []
        var holes = Set<Int>()
        if fate == .evicted {
            let asked = sequences.filter { !dead.contains($0) && isIn(purgeAsked, pair.log, $0) }
            // A hole that is damaged cannot be told from an event.
            let sure = asked.filter { sequence in
                let posted = acknowledged[pair.log][sequence]
                let place = Place(log: pair.log, sequence: sequence)
                return purged.contains(place) && !(posted.map { explains(place, $0) } ?? true)
            }
            let due = sequences.count { !dead.contains($0) } - count
            holes = Set((sure + asked.filter { !sure.contains($0) }).prefix(due))
            try require(
                holes.count == due && due >= sure.count,
                "\(pair): \(count) of \(sequences) are evicted, of which \(sure) to \(asked) are purged")
        }
        for sequence in sequences {
            let fate = dead.contains(sequence) ? .dead : holes.contains(sequence) ? .purged : fate
            try add(fate, to: &account, pair, now: now)
        }
    }

    private func isIn(_ places: Set<Place>, _ log: Int, _ sequence: Int) -> Bool {
        places.contains(Place(log: log, sequence: sequence))
    }

    private func add(_ fate: Fate, to account: inout Account, _ pair: Pair, now: Int) throws(Violation) {
        let isJustified = isJustified(fate, pair, account.low, now: now)
        try require(isJustified, "\(pair): \(account.low) counts as \(fate) without a reason")
        account.fates.append(fate)
        account.ledger.count(1, as: fate)
    }

    private func isJustified(_ fate: Fate, _ pair: Pair, _ sequence: Int, now: Int) -> Bool {
        let place = Place(log: pair.log, sequence: sequence)
        let delivery = Delivery(pair: pair, sequence: sequence)
        let posted = acknowledged[pair.log][sequence]
        return switch fate {
        case .delivered: taken.contains(delivery)
        case .dead: lettersAsked.contains(delivery)
        case .expired:
            // Where an event is damaged, one that was refused may stand in its place, and expire there.
            posted.map { isOver($0.token, at: now) || explains(place, $0) } ?? true
        case .evicted: evictable.contains(pair.log)
        case .purged: purgeAsked.contains(place) || (posted == nil && purgedOnce.contains(place))
        case .quarantined: posted.map { purgeAsked.contains(place) || explains(place, $0) } ?? true
        }
    }

    private func isOver(_ token: Int, at now: Int) -> Bool { deadlines[token].map { $0 <= now } ?? false }

    /// The sums, after every operation.
    mutating func check(_ queue: some QueueUnderTest) throws(Violation) {
        var accepted: [Int: Int] = [:]
        for (pair, account) in accounts {
            guard let cursor = queue.cursor(pair.destination, pair.log) else {
                try require(account.base.low == 1 && account.fates.isEmpty, "\(pair) has no cursor")
                continue
            }
            let total = accepted[pair.log] ?? queue.accepted(pair.log)
            accepted[pair.log] = total
            try require(
                cursor.origin + Int(cursor.ledger.total) + cursor.queued == total,
                "\(pair): accepted \(total) is not the sum of \(cursor)")
            try require(cursor.low - 1 == cursor.origin + Int(cursor.ledger.total), "\(pair): \(cursor) is no sum")
            try require(cursor.low == account.low, "\(pair): low \(cursor.low), not \(account.low)")
            var account = account
            drop(pair, &account, until: cursor.ledger, at: account.low)
            accounts[pair] = account
            accounts[pair]?.writtenLow = account.low
            try require(cursor.ledger == account.ledger, "\(pair): \(cursor.ledger), not \(account.ledger)")
        }
    }

    /// An operator has asked to purge events: their letters may go, and count as purged.
    mutating func purge(_ places: [Place]) {
        purgeAsked.formUnion(places)
        let asked = Set(places)
        let gone = letters.filter { asked.contains(Place(log: $0.pair.log, sequence: $0.sequence)) }
        letters.subtract(gone)
        for delivery in lettersAsked where asked.contains(Place(log: delivery.pair.log, sequence: delivery.sequence)) {
            lettersDropped.insert(delivery)
        }
    }

    /// Counts letters of purged events as purged, the oldest first, until the ledger at a place is as it was found.
    func drop(_ pair: Pair, _ account: inout Account, until ledger: Ledger, at low: Int) {
        guard !lettersDropped.isEmpty, low >= account.base.low, account.ledger(at: low) != ledger else { return }
        for index in account.fates.indices.prefix(low - account.base.low) where account.fates[index] == .dead {
            let delivery = Delivery(pair: pair, sequence: account.base.low + index)
            guard lettersDropped.contains(delivery) else { continue }
            account.fates[index] = .purged
            if account.ledger(at: low) == ledger { break }
        }
        var before = lettersDropped.count { $0.pair == pair && $0.sequence < account.base.low }
        while before > 0, account.base.ledger.dead > 0, account.ledger(at: low) != ledger {
            account.base.ledger.dead -= 1
            account.base.ledger.purged += 1
            before -= 1
        }
        account.ledger = account.ledger(at: account.low)
    }

    /// A sync of the cursors has returned.
    mutating func cursorsAreDurable() {
        for (pair, account) in accounts {
            accounts[pair]?.durableLow = account.low
            accounts[pair]?.isDurable = true
        }
    }
}

extension Truth.Pair: CustomStringConvertible {
    var description: String { "destination \(destination), log \(log)" }
}

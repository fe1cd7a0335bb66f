internal import Queue

extension Truth {
    /// Compares what a start found with what is known.
    mutating func restart(_ queue: some QueueUnderTest, after end: ProcessEnd, now: Int) throws(Violation) {
        if end == .powerCut { hasFailed = false }
        for log in acknowledged.indices { try forgetLostTail(of: log, accepted: queue.accepted(log)) }
        // What starts do by themselves they do because of damage; the cursors tell.
        _ = queue.takeMoves()
        for pair in pairs { excuseMissing(pair, queue) }
        // All destinations are read for at the end; what one of them finds damaged is so for the others.
        for log in acknowledged.indices {
            let last = pairs.filter { $0.log == log }.min { low($0, queue) < low($1, queue) }
            if let last { try readAll(last, queue, now: now) }
        }
        for pair in pairs { try compare(pair, queue, after: end, now: now) }
        slotsDamaged = false
        try adopt(queue)
        for pair in accounts.keys { accounts[pair]?.isDurable = true }
        try check(queue)
    }

    private func low(_ pair: Pair, _ queue: some QueueUnderTest) -> Int {
        queue.cursor(pair.destination, pair.log)?.low ?? .max
    }

    var pairs: [Pair] { accounts.keys.sorted { ($0.destination, $0.log) < ($1.destination, $1.log) } }

    /// Gives an account to each cursor that is new: it must begin at the oldest event kept, with nothing counted.
    mutating func adopt(_ queue: some QueueUnderTest) throws(Violation) {
        for destination in 0..<QueueShape.destinations {
            for log in acknowledged.indices {
                let pair = Pair(destination: destination, log: log)
                guard accounts[pair] == nil, let cursor = queue.cursor(destination, log) else { continue }
                try require(isFresh(cursor, pair, queue.oldest(log)), "\(pair) begins as \(cursor)")
                accounts[pair] = Account(base: cursor, ledger: cursor.ledger, durableLow: cursor.low)
            }
        }
    }

    /// Starts that were cut off may have made it before a file came back that nobody waits for.
    private func isFresh(_ cursor: CursorView, _ pair: Pair, _ oldest: Int) -> Bool {
        let others = accounts.lazy.filter { $0.key.log == pair.log && $0.key != pair }.map(\.value.low)
        return cursor.low >= oldest && (cursor.low == oldest || others.allSatisfy { $0 >= cursor.low })
            && cursor.ledger.total == cursor.ledger.dead
            && cursor.origin + Int(cursor.ledger.total) == cursor.low - 1
    }

    /// Numbers beyond what a start found: they were lost with their write, and may be given again.
    private mutating func forgetLostTail(of log: Int, accepted: Int) throws(Violation) {
        let newest = acknowledged[log].keys.max() ?? 0
        defer { forgetDisposals(of: log, beyond: accepted) }
        guard newest > accepted else { return }
        mayMissNames = true
        for sequence in accepted + 1...newest {
            try lose(Place(log: log, sequence: sequence))
            acknowledged[log][sequence] = nil
        }
        for pair in newestSent.keys where pair.log == log {
            newestSent[pair] = min(newestSent[pair] ?? 0, accepted)
        }
    }

    /// Numbers that are given again were not purged, and have no letters; should those before them come back, they may
    /// still be purged.
    private mutating func forgetDisposals(of log: Int, beyond accepted: Int) {
        purgedOnce.formUnion(purgeAsked.filter { $0.log == log && $0.sequence > accepted })
        purgeAsked = purgeAsked.filter { $0.log != log || $0.sequence <= accepted }
        purged.formIntersection(purgeAsked)
        lettersAsked = lettersAsked.filter { $0.pair.log != log || $0.sequence <= accepted }
        letters.formIntersection(lettersAsked)
        lettersDropped.formIntersection(lettersAsked)
    }

    /// A cursor that damage has set back passes what is not there any more: every destination had settled it.
    private mutating func excuseMissing(_ pair: Pair, _ queue: some QueueUnderTest) {
        guard slotsDamaged, let cursor = queue.cursor(pair.destination, pair.log) else { return }
        let settled = accounts.lazy.filter { $0.key.log == pair.log }.map(\.value.low).min() ?? 0
        guard cursor.low < settled else { return }
        injuries.append(Injury(log: pair.log, range: cursor.low...settled - 1, most: settled - cursor.low))
    }

    /// Every acknowledged event is there for every destination that still waits for it.
    private mutating func readAll(_ pair: Pair, _ queue: some QueueUnderTest, now: Int) throws(Violation) {
        guard let cursor = queue.cursor(pair.destination, pair.log) else { return }
        let items = queue.readAll(pair.destination, pair.log)
        for (log, range) in queue.takeNamed() { named[log].append(range) }
        guard let items else { return }
        try look(at: items, pair, from: cursor.low, now: now)
        let end = cursor.low + items.count
        let accepted = queue.accepted(pair.log)
        try require(end == accepted + 1, .lost, "\(pair): what is read ends before \(end), \(accepted) are accepted")
    }

    private mutating func compare(
        _ pair: Pair, _ queue: some QueueUnderTest, after end: ProcessEnd, now: Int
    ) throws(Violation) {
        guard var account = accounts[pair] else { return }
        if evictable.contains(pair.log), let found = queue.cursor(pair.destination, pair.log), found.low > account.low,
            found.origin == account.base.origin
        {
            // The crash came after the cursors were durable and before the queue could tell.
            let count = Int(found.ledger.evicted) - Int(account.ledger.evicted)
            try add(.evicted, count, upTo: found.low, to: &account, pair, queue, now: now)
        }
        guard let found = queue.cursor(pair.destination, pair.log) else {
            let mayBeGone = acknowledged[pair.log].isEmpty || slotsDamaged || !account.isDurable
            try require(mayBeGone, .lost, "\(pair): cursor and log are gone")
            accounts[pair] = nil
            return
        }
        if found.low <= account.low { drop(pair, &account, until: found.ledger, at: found.low) }
        let isKnown =
            found.low >= account.base.low && found.low <= account.low && found.ledger == account.ledger(at: found.low)
            && found.origin == account.base.origin
        if !isKnown {
            let oldest = queue.oldest(pair.log)
            let isReset = slotsDamaged && found.low <= oldest
            try require(
                isReset || (slotsDamaged || !account.isDurable) && isFresh(found, pair, oldest),
                "\(pair): \(found) was never true, last was \(account.low) with \(account.ledger)")
            account = Account(base: found, ledger: found.ledger, durableLow: found.low)
        } else {
            if !slotsDamaged {
                let bound = end == .kill && !hasFailed ? account.writtenLow : account.durableLow
                try require(found.low >= bound, "\(pair): low went back to \(found.low), below \(bound)")
            }
            if let most = traits.mostResent, !slotsDamaged {
                try require(account.low - found.low <= most, "\(pair): \(account.low - found.low) are sent again")
            }
            account.fates.removeLast(account.low - found.low)
            account.ledger = found.ledger
            account.durableLow = found.low
        }
        accounts[pair] = account
        // What was passed over before may be sent now.
        newestSent[pair] = min(newestSent[pair] ?? 0, found.low - 1)
        let letters = queue.letters(pair.destination, pair.log).count { $0 < found.low }
        let dead = Int(found.ledger.dead)
        try require(dead <= letters, .lost, "\(pair): \(dead) dead, \(letters) letters")
    }
}

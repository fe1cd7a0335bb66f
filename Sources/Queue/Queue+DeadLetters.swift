extension Queue {
    /// One letter of a listing.
    package struct ListedLetter: Sendable, Equatable {
        package let name: DeadLetterName
        /// True where it is to be sent again.
        package let isRetried: Bool
    }

    /// Keeps events that their destinations refused for good; durable when it returns.
    ///
    /// To be followed by `settle`, which counts them as dead whatever it is told; until then `read` gives them as
    /// dead. A letter whose event its destination has settled already is left out, but one that was to be sent again
    /// takes the place of the old one.
    ///
    /// - Throws: `deadLettersFull` where they would take more than their share of a tenth of the queue's size, or all
    ///   files more than that size, `tooManyDeadLetters`, `failed`; then none is kept.
    package func bury(_ letters: [DeadLetter]) throws(QueueError) {
        try completeStart()
        let fresh = letters.filter { letter in
            let low = cursor(destination: letter.destination, log: letter.log)?.low
            return low.map { letter.id.sequence >= $0 } ?? false || deadLetters.stage(of: letter.name) == .retried
        }
        guard !fresh.isEmpty else { return }
        do throws(QueueError) {
            try deadLetters.add(fresh, within: letterLimits)
        } catch  where error.keepsLettersOut || error.isLackOfRoom {
            // One that was sent again stands where it did, with its old answer, where the new one has no room.
            let names = fresh.map(\.name)
            guard names.allSatisfy({ deadLetters.stage(of: $0) == .retried }) else { throw error }
            try deadLetters.putBack(names)
        }
    }

    /// The dead letters of a destination, or of all, in order; at most `limit` of them, behind `name`.
    package func deadLetters(
        of destination: String? = nil, after name: DeadLetterName? = nil, limit: Int
    ) -> [ListedLetter] {
        var listed: [ListedLetter] = []
        let place = name.map { ($0.destination, $0.log.text) }
        for key in letterKeys(of: destination) where listed.count < limit {
            let here = (key.destination, key.log.text)
            if let place, here < place { continue }
            let first = name.map { place ?? here == here ? $0.sequence + 1 : 0 } ?? 0
            let shown = deadLetters.letters(of: key, from: first).lazy.filter(\.stage.isShown)
            listed += shown.prefix(limit - listed.count).map { letter in
                ListedLetter(
                    name: DeadLetterName(destination: key.destination, log: key.log, sequence: letter.sequence),
                    isRetried: letter.stage == .retried)
            }
        }
        return listed
    }

    /// The destinations and logs that have letters, in order.
    func letterKeys(of destination: String? = nil) -> [CursorKey] {
        deadLetters.keys.filter { destination == nil || $0.destination == destination }
            .sorted { ($0.destination, $0.log.text) < ($1.destination, $1.log.text) }
    }

    /// True for a dead letter that is to be sent again.
    package func isRetried(_ name: DeadLetterName) -> Bool { deadLetters.stage(of: name) == .retried }

    /// The dead letters of some events, of a destination or of all, in order.
    ///
    /// - Throws: `failed`.
    package func deadLetters(
        ofEvents ids: Set<EventID>, destination: String?
    ) throws(QueueError) -> [DeadLetterName] {
        let numbers = Set(ids.map(\.sequence)).sorted()
        let names = letterKeys(of: destination).flatMap { key in
            numbers.map { DeadLetterName(destination: key.destination, log: key.log, sequence: $0) }
        }
        var found: [DeadLetterName] = []
        for name in names where deadLetters.stage(of: name)?.isShown ?? false {
            do throws(QueueError) {
                if let id = try deadLetters.read(name)?.id, ids.contains(id) { found.append(name) }
            } catch {
                guard case .damagedLetter = error else { throw error }
            }
        }
        return found
    }

    /// Reads a dead letter; nil where there is none.
    ///
    /// - Throws: `damagedLetter`, which leaves it where it is, counted as dead; `failed`.
    package func deadLetter(_ name: DeadLetterName) throws(QueueError) -> DeadLetter? { try deadLetters.read(name) }

    /// Throws dead letters away, for good when it returns, and counts them as purged; how many they were.
    ///
    /// Those that their cursor has not passed yet stay, as do those that are not there.
    package func drop(_ names: [DeadLetterName]) throws(QueueError) -> UInt64 {
        var work = beginDrop(.named(names))
        return try finish(&work)
    }

    /// Has dead letters sent again: they count as queued until `resolve`, or `bury` again; how many they were.
    package func retry(_ names: [DeadLetterName]) throws(QueueError) -> UInt64 {
        var work = beginRetry(.named(names))
        return try finish(&work)
    }

    /// Does what ends an order that is else done, once more where it fails: that may have been but one call.
    func twice(_ end: () throws(QueueError) -> Void) throws(QueueError) {
        do throws(QueueError) { try end() } catch { try end() }
    }

    /// Counts letters that were sent again as delivered, durably, and lets them go.
    package func resolve(_ names: [DeadLetterName]) throws(QueueError) {
        try completeStart()
        for name in settled(names, where: { $0 == .retried }) {
            try deadLetters.rename(name, from: .retry, to: .done)
            deadLetters.set(name, to: .delivered)
        }
        try finishLetters()
    }

    /// Those of the letters that their cursor has passed, and whose stage is a wanted one.
    private func settled(
        _ names: [DeadLetterName], where isWanted: (DeadLetterStore.Stage) -> Bool
    ) -> [DeadLetterName] {
        Set(names).sorted().filter { name in
            guard let stage = deadLetters.stage(of: name), isWanted(stage) else { return false }
            return cursor(destination: name.destination, log: name.log).map { name.sequence < $0.low } ?? true
        }
    }

    /// Counts the letters that were delivered or removed, and lets them go.
    ///
    /// Names first, then the cursor, then the files of those delivered: whichever of it a crash leaves undone, the next
    /// start finds by the number of files (`reconcileLetters`).
    func finishLetters() throws(QueueError) {
        try deadLetters.clearFailed()
        let names = deadLetters.unfinished.sorted()
        guard !names.isEmpty else { return }
        let folders = Set(names.map(\.folder)).sorted()
        try deadLetters.synchronise(folders)
        for (key, ended) in Dictionary(grouping: names, by: CursorKey.init).sorted(by: { $0.value[0] < $1.value[0] }) {
            recount(ended, of: key)
        }
        for name in names {
            switch deadLetters.stage(of: name) {
            case .delivered: deadLetters.set(name, to: .counted)
            case .unlinked: deadLetters.forget(name)
            default: break
            }
        }
        try synchroniseCursors()
        let delivered = deadLetters.unfinished.sorted()
        for name in delivered {
            try deadLetters.unlink(name)
            deadLetters.forget(name)
        }
        if !delivered.isEmpty { try deadLetters.synchronise(folders) }
    }

    /// Counts those letters that their cursor has passed as something else than dead.
    private func recount(_ letters: [DeadLetterName], of key: CursorKey) {
        guard var cursor = cursors[key] else { return }
        let before = cursor.state.ledger
        for name in letters where name.sequence < cursor.state.low && cursor.state.ledger.dead > 0 {
            switch deadLetters.stage(of: name) {
            case .delivered: cursor.state.ledger.delivered += 1
            case .unlinked: cursor.state.ledger.purged += 1
            default: continue
            }
            cursor.state.ledger.dead -= 1
        }
        guard cursor.state.ledger != before else { return }
        cursor.slot = cursorFile.write(slot(key, cursor.state), at: cursor.slot)
        cursors[key] = cursor
    }

    /// Has events that are buried disposed of as dead, whatever else became of them (rule 5).
    func countingLetters(_ dispositions: [Disposition], _ key: CursorKey) -> [Disposition] {
        guard let first = dispositions.first?.sequences.lowerBound else { return dispositions }
        let low = max(first, cursors[key]?.state.low ?? 0)
        let dead = deadLetters.pending(key, from: low).sorted()
        guard !dead.isEmpty else { return dispositions }
        var all: [Disposition] = []
        for run in dispositions {
            var next = run.sequences.lowerBound
            for sequence in dead where run.sequences.contains(sequence) {
                if next < sequence { all.extend(run.kind, next...sequence - 1) }
                all.extend(.dead, sequence...sequence)
                next = sequence + 1
            }
            if next <= run.sequences.upperBound { all.extend(run.kind, next...run.sequences.upperBound) }
        }
        return all
    }

    /// Letters that count as queued again.
    func retried(_ key: CursorKey) -> UInt64 { UInt64(deadLetters.retried(key).count) }
}

// MARK: The start

extension Queue {
    /// Lists the letters; a log goes as far as they do, so that their numbers are not given again.
    func recoverLetters() {
        deadLetters.load(&recovery)
        for name in deadLetters.keys.flatMap({ deadLetters.names(of: $0) { _, _ in true } }).sorted() {
            let log = state(of: name.log)
            guard log.last < name.sequence else { continue }
            // Only a letter that is whole says so: a name alone has no checksum.
            guard (try? deadLetters.read(name)) != nil else {
                leaveStray(name)
                continue
            }
            pass(log.last + 1...name.sequence, lostBy: log)
        }
    }

    /// Makes the cursors count as many dead events as there are letters that they have passed.
    ///
    /// A name makes no letter: where there are more than are counted, and where one would dispose of an event that is
    /// still to be sent, only those that are whole are taken.
    func reconcileLetters() {
        let known = cursors.sorted { ($0.key.destination, $0.key.log.text) < ($1.key.destination, $1.key.log.text) }
        for (key, cursor) in known where deadLetters.isListed(key.destination) {
            let low = cursor.state.low
            leaveStrays(among: deadLetters.names(of: key) { $0 >= low && $1 != .delivered }, atMost: .max)
            let passed = deadLetters.names(of: key) { $0 < low && $1 != .delivered }
            leaveStrays(among: passed, atMost: passed.count - Int(clamping: cursor.state.ledger.dead))
            let kept = deadLetters.names(of: key) { $0 < low && $1 != .delivered }
            let delivered = deadLetters.names(of: key) { $1 == .delivered }
            for name in delivered { deadLetters.set(name, to: .counted) }
            var state = cursor.state
            adopt(kept, delivered: delivered.count, by: &state, of: key)
            guard state != cursor.state else { continue }
            cursors[key] = Cursor(state: state, slot: cursorFile.write(slot(key, state), at: cursor.slot))
        }
    }
}

extension Queue {
    /// Has a cursor count these letters, and notes those that it did not count.
    func adopt(_ letters: [DeadLetterName], delivered: Int = 0, by state: inout CursorState, of key: CursorKey) {
        let before = state.ledger.dead
        state.reconcile(letters: UInt64(letters.count), delivered: UInt64(delivered))
        guard state.ledger.dead > before else { return }
        recovery.lettersAdopted.append(
            RecoveryReport.LettersAdopted(
                destination: key.destination, log: key.log, count: state.ledger.dead - before))
    }

    /// Leaves alone files that have only the name of a letter, no more than so many.
    func leaveStrays(among letters: [DeadLetterName], atMost limit: Int) {
        var left = limit
        for name in letters.sorted() where left > 0 {
            do throws(QueueError) {
                _ = try deadLetters.read(name)
            } catch {
                guard case .damagedLetter = error else { continue }
                leaveStray(name)
                left -= 1
            }
        }
    }

    private func leaveStray(_ name: DeadLetterName) {
        recovery.strays.append(name.path(deadLetters.stage(of: name) == .retried ? .retry : .letter))
        deadLetters.forget(name)
    }
}

extension CursorState {
    /// Takes over that there are so many letters below the cursor, and so many more that were delivered.
    ///
    /// What is counted as dead and has no file any more was delivered, as far as there are such letters, or removed by
    /// somebody. Letters that are not counted lie before a cursor that was lost, were put back,
    /// or were left by an attempt that failed: the store wins over what else is counted.
    mutating func reconcile(letters: UInt64, delivered: UInt64) {
        let gone = ledger.dead > letters ? ledger.dead - letters : 0
        ledger.dead -= gone
        ledger.delivered += min(gone, delivered)
        ledger.purged += gone - min(gone, delivered)
        let before = min(letters - ledger.dead, origin)
        origin -= before
        ledger.dead += before
        for count in [\Ledger.purged, \.delivered, \.quarantined, \.evicted, \.expired] {
            let other = min(letters - ledger.dead, ledger[keyPath: count])
            ledger[keyPath: count] -= other
            ledger.dead += other
        }
    }
}

internal import Bytes
internal import Daemon
internal import Delivery
internal import Gates
internal import Intake
internal import Queue
internal import QueueSimulator
internal import Reachability
internal import Time

/// Promises 1 and 2: an accepted event is on disk, and is accounted for at every moment and over restarts.
extension Promise {
    func posted(_ event: Int, _ bytes: [UInt8], _ log: LogName, _ coordinator: Coordinator, life: Int) {
        var views: [String: View] = [:]
        let isOnHold = log == Self.consentLog && coordinator.admission.consent.state(of: Simulation.category) == .hold
        for unit in coordinator.units { views[unit.name] = view(view(of: unit), onHold: isOnHold) }
        posts[event] = Post(
            log: log, bytes: bytes, life: life, type: announcedType(coordinator), views: views)
    }

    private func view(of unit: DestinationUnit) -> View {
        guard let track = tracks[unit.name] else { return .unclear }
        let open = View.open(disturbances: track.disturbances)
        switch unit.reachability.state {
        case .noPath: return .closed("connectivity")
        case .unreachable, .portal: return settings.reachability.checks ? .closed("connectivity") : .unclear
        case .verifying:
            guard settings.reachability.checks else { return .unclear }
            let isClosed = track.hasLooked || unit.reachability.connectivity == .closed
            return isClosed ? .closed("connectivity") : open
        case .unknown: return track.hasLooked ? .unclear : open
        case .reachable:
            let status = unit.delivery.status
            if status.isThrottled || status.isHeld { return .closed("destination") }
            return status.reason == .none || status.reason == .consent ? open : .unclear
        }
    }

    /// The connection type by what the kernel said of the way to the first destination, `none` once that is announced.
    private func announcedType(_ coordinator: Coordinator) -> String {
        guard let first = coordinator.units.first, let track = tracks[first.name] else { return "unknown" }
        return first.reachability.state == .noPath ? "none" : track.lastType
    }

    func acknowledged(_ event: Int, _ id: EventID) {
        guard let post = posts[event] else { return require(false, "\(event) was answered and never posted") }
        require(ids[event] == nil, "\(event) was answered twice")
        let last = newest[post.log] ?? 0
        require(id.sequence == last + 1, "\(event) got \(id.sequence) after \(last) in \(post.log.text)")
        newest[post.log] = id.sequence
        numbers[post.log, default: [:]][id.sequence] = event
        ids[event] = id
        told.insert(event)
    }

    /// The sum of each destination, at every moment.
    func checkLedgers(_ queue: Queue) {
        let snapshot = queue.snapshot
        for log in snapshot.logs {
            require(log.accepted >= newest[log.name] ?? 0, "\(log.name.text): only \(log.accepted) accepted")
        }
        for cursor in snapshot.cursors {
            let accepted = snapshot.logs.first { $0.name == cursor.log }?.accepted ?? 0
            let letters = queue.deadLetters(of: cursor.destination, limit: .max).filter { $0.name.log == cursor.log }
            let retried = UInt64(letters.count { $0.isRetried })
            require(
                cursor.ledger.total + cursor.queued == accepted && cursor.low - 1 == cursor.ledger.total + retried,
                "\(cursor.destination), \(cursor.log.text): \(accepted) accepted are not the sum of \(cursor)")
        }
    }

    func cursorMoved(_ destination: String, _ log: LogName, _ queue: Queue, at now: Instant) {
        guard let low = queue.cursor(destination: destination, log: log)?.low else { return }
        tracks[destination]?.cursorHistory[log, default: []].append((now, low))
    }

    func diskIsWrong(until instant: Instant) { diskWrong = max(diskWrong, instant) }

    func crashed(_ end: SimulatedDisk.End, at now: Instant) {
        note("crash: \(end)")
        // What was to be synced while the machine slept may still wait for the first turn after it.
        lastEnd = (end, now < wokeAt + .milliseconds(2_500) ? min(now, sleptAt) : now)
        if orders.areOpen { count(.diedBetween) }
        answering = nil
        waiting = [:]
        for flight in simulation?.process?.flights.values.map({ $0 }) ?? [] {
            tracks[flight.request.destination]?.repeatable += flight.events.count
        }
    }

    /// A start that died; what it left is not looked at.
    func diedAtStart(_ end: SimulatedDisk.End) {
        note("crash at the start: \(end)")
        if end == .powerCut, let last = lastEnd { lastEnd = (end, last.at) }
    }

    /// What a start finds, before anything is done with it.
    func opened(_ queue: Queue, at now: Instant) {
        note("open")
        checkRecoveredCursors(queue)
        adopt(queue)
        checkRecoveredConsent(queue)
        checkLedgers(queue)
        openedAt = now
        for name in tracks.keys {
            guard let old = tracks[name] else { continue }
            var track = Track()
            track.disturbances = old.disturbances + 1
            track.batches = old.batches
            track.newestArrival = old.newestArrival
            track.idleSince = now
            track.repeatable = old.repeatable
            track.letters = old.letters
            track.refusedAlone = old.refusedAlone
            for log in queue.logNames {
                let low = queue.cursor(destination: name, log: log)?.low ?? 1
                track.low[log] = low
                track.repeatable += Int(max(old.low[log] ?? low, low) - low)
                track.cursorHistory[log] = [(now, low)]
            }
            tracks[name] = track
        }
    }

    /// A kill loses no cursor, a power cut those of the last seconds.
    private func checkRecoveredCursors(_ queue: Queue) {
        guard let (end, at) = lastEnd, diskWrong + .seconds(20) < at else { return }
        for (name, track) in tracks {
            for (log, history) in track.cursorHistory {
                let horizon = end == .kill ? at : at + .milliseconds(-2_500)
                guard let least = history.last(where: { $0.at <= horizon })?.low else { continue }
                let low = queue.cursor(destination: name, log: log)?.low ?? 1
                require(low >= least, "\(name), \(log.text): after a \(end) the cursor is \(low), it was \(least)")
            }
        }
    }

    /// Reads all that some destination waits for; what clients were told must be there, byte for byte.
    private func adopt(_ queue: Queue) {
        let logs = queue.snapshot.logs
        for (log, last) in newest {
            let accepted = logs.first { $0.name == log }?.accepted ?? 0
            let lastTold = numbers[log]?.filter { told.contains($0.value) }.keys.max() ?? 0
            require(accepted >= lastTold, "\(log.text): \(accepted) found of \(last), \(lastTold) were promised")
        }
        for log in logs {
            let names = settings.destinations.map(\.name)
            let cursors = names.map { ($0, queue.cursor(destination: $0, log: log.name)?.low ?? 1) }
            let (name, low) = cursors.min { $0.1 < $1.1 } ?? ("", 1)
            let found = read(queue, log.name, for: name, from: low)
            let letters = tracks[name]?.letters ?? []
            for (sequence, event) in numbers[log.name] ?? [:]
            where sequence >= low && found[sequence] != event && !letters.contains(event)
                && !mayBePurged(log.name, sequence)
            {
                require(!told.contains(event), "\(log.name.text): \(event), number \(sequence), is lost")
                ids[event] = nil
                numbers[log.name]?[sequence] = nil
            }
            for (sequence, event) in found { numbers[log.name, default: [:]][sequence] = event }
            newest[log.name] = log.accepted
        }
    }

    private func read(_ queue: Queue, _ log: LogName, for name: String, from low: UInt64) -> [UInt64: Int] {
        var found: [UInt64: Int] = [:]
        var next = low
        do throws(QueueError) {
            while let chunk = try queue.read(log, for: name, from: next, limit: 8_192, age: 0) {
                for record in chunk.records {
                    let bytes = Array(chunk.bytes[record.range])
                    guard let event = SentEvent.number(bytes), posts[event]?.bytes == bytes else {
                        require(false, "\(log.text): number \(record.sequence) has other bytes")
                        return found
                    }
                    let id = EventID(epoch: chunk.epoch, sequence: record.sequence)
                    require(!told.contains(event) || ids[event] == id, "\(event) has another id after a start")
                    ids[event] = id
                    require(!isGone(event), "\(event) is there again after the receipt of its purge")
                    found[record.sequence] = event
                }
                next = chunk.sequences.upperBound + 1
            }
        } catch {
            require(simulation?.disk.hasCrashed ?? true, "\(log.text) cannot be read: \(error)")
        }
        return found
    }

    /// After all is healed, and a last power cut: everything is where it was promised to be.
    func isOver() {
        guard let queue = simulation?.process?.queue else { return }
        let snapshot = queue.snapshot
        for destination in settings.destinations.map(\.name) {
            for event in told {
                let isLetter = tracks[destination]?.letters.contains(event) ?? false
                require(
                    hasKept(destination, event) || isLetter || mayBePurged(event),
                    "\(event) never came to \(destination)")
            }
        }
        for cursor in snapshot.cursors {
            let name = "\(cursor.destination), \(cursor.log.text)"
            let letters = queue.deadLetters(of: cursor.destination, limit: .max).filter { $0.name.log == cursor.log }
            require(
                UInt64(letters.count) == cursor.ledger.dead, "\(name): \(letters.count) letters, \(cursor.ledger)")
            for letter in letters {
                let event = numbers[cursor.log]?[letter.name.sequence]
                require(
                    event.map { tracks[cursor.destination]?.letters.contains($0) ?? false } ?? false,
                    "\(name): \(letter.name.sequence) is a letter and was not refused")
            }
            // A batch that was refused may come back with a file whose removal a power cut undid.
            let last = cursor.low + cursor.queued
            require(
                cursor.queued == 0 || mayBeLost(cursor.log, cursor.low...last - 1),
                "\(name): \(cursor.queued) are still queued")
            let accepted = snapshot.logs.first { $0.name == cursor.log }?.accepted ?? 0
            checkSum(of: cursor, among: accepted)
        }
    }

    /// The sum of a destination in a log, where all is drained.
    private func checkSum(of cursor: QueueSnapshot.Cursor, among accepted: UInt64) {
        let name = "\(cursor.destination), \(cursor.log.text)"
        let numbers = 1...max(1, accepted)
        let lost = numbers.count { mayBeLost(cursor.log, $0...$0) }
        let ledger = cursor.ledger
        require(
            ledger.delivered + ledger.dead + ledger.purged + ledger.quarantined + cursor.queued == accepted
                && ledger.quarantined <= lost,
            "\(name): \(accepted) accepted, \(ledger), at most \(lost) were not promised")
        // Letters may be dropped, and count as purged then, too.
        let coverable = numbers.count { mayBeLeftOut(cursor.log, $0...$0, cursor.destination) }
        require(ledger.purged <= coverable, "\(name): \(ledger.purged) purged, orders cover \(coverable)")
        let ours = told.filter { posts[$0]?.log == cursor.log }
        let missing = ours.count { !hasKept(cursor.destination, $0) }
        require(UInt64(missing) <= ledger.purged + ledger.dead, "\(name): \(missing) never came, \(ledger)")
    }
}

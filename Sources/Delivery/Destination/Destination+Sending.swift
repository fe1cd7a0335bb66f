internal import Gates
internal import Queue
internal import Reachability
internal import Time

extension Destination {
    /// Takes newer events of a log; those accepted before a gate closed but durable only now wait behind it, too.
    mutating func extend(_ log: LogName, to newest: UInt64) {
        if !backlogs.contains(where: { $0.log == log }) {
            backlogs.append(Backlog(LogPosition(log: log, low: 1, newest: 0)))
        }
        for index in backlogs.indices where backlogs[index].log == log {
            backlogs[index].extend(to: newest)
            if let gate = gate(of: log) { backlogs[index].mark(gate) }
        }
    }

    /// The closed gate that counts for a log, by the order of `Gate`'s raw values; nil where all are open.
    private func gate(of log: LogName) -> Gate? {
        let own: Gate? = withheld.contains(log) ? .consent : passage.allowsByNetwork(log) ? nil : .policy
        return [gates.current, own].compactMap { $0 }.min { $0.rawValue < $1.rawValue }
    }

    /// Takes a log that the start could not read, of which nothing was sent yet.
    mutating func replace(with position: LogPosition) {
        if let index = backlogs.firstIndex(where: { $0.log == position.log }) {
            precondition(backlogs[index].isEmpty, "a log was sent before it was read")
            backlogs[index] = Backlog(position)
        } else {
            backlogs.append(Backlog(position))
        }
    }

    mutating func tookChunk(_ chunk: Chunk?, read id: UInt64, at now: Instant) {
        guard let index = backlogs.firstIndex(where: { $0.read == id }) else { return }
        if let chunk {
            precondition(chunk.log == backlogs[index].log)
            if chunk.sequences.lowerBound > backlogs[index].unread { passed(to: chunk.sequences.lowerBound, index) }
            backlogs[index].took(chunk)
        } else {
            backlogs[index].readNothing(tryAgainAt: now + Self.readPause)
        }
    }

    /// The queue's cursor is further than was known: everything before `low` is settled.
    private mutating func passed(to low: UInt64, _ index: Int) {
        backlogs[index].settle(through: low - 1)
        for place in places.indices where places[place].prepared?.log == backlogs[index].log {
            places[place].prepared = nil
        }
        dropSettled()
        backlogs[index].rewind(to: low)
    }

    /// A closed gate that forbids every batch, that of a check as well.
    var blockingGate: Gate? {
        [.policy, .paused, .storage].first { gates.isClosed($0) }
    }

    /// Only one request may be in flight until it is known how it ends.
    var isSingle: Bool { wait != nil || [.first, .firstDone, .second].contains(stage) }

    /// Sends, settles and reads what can be now.
    mutating func advance(at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard !isStopped else { return }
        awaitToken(at: now, &effects)
        dropSettled()
        endIdleWait(at: now, &effects)
        if blockingGate == nil { dropForbidden() }
        if check == .wanted { beginCheck(at: now, &effects) }
        guard permission != .none, blockingGate == nil, (wait.map { $0.until <= now } ?? true), pace.next <= now
        else { return }
        if case .spread(let until) = stage {
            guard until <= now else { return }
            stage = .second
        }
        if stage == .first || stage == .second, !hasBacklog { stage = .open }
        let wasTried = places.map { $0.batch != nil }
        for place in wasTried[Place.urgent] || !wasTried[Place.rest] ? [0, 1] : [1, 0] {
            guard !isSingle || isIdle, pace.next <= now else { return }
            fill(place, at: now, &effects)
        }
        if !isSingle || isIdle { readLetter(at: now, &effects) }
        guard wait == nil, stage == .open || stage == .second else { return }
        for place in places.indices { prepare(place, at: now) }
        let order = backlogs.indices.sorted { backlogs[$0].turn < backlogs[$1].turn }
        for index in order { read(index, at: now, &effects) }
    }

    /// Sends the place's batch, or the next, where nothing is in flight there; true where it did.
    @discardableResult
    mutating func fill(_ place: Int, at now: Instant, _ effects: inout [DeliveryEffect]) -> Bool {
        while places[place].isFree {
            if places[place].batch == nil {
                let prepared = places[place].prepared.take()
                let letter = prepared == nil ? formLetter(place, at: now) : nil
                guard let batch = prepared ?? letter ?? formNext(place, at: now, &effects) else { return false }
                places[place].batch = batch
            }
            if places[place].batch?.events == 0 {
                guard places[place].aside == nil else {
                    setBack(place)
                    hold(.refusing, at: now, &effects)
                    return false
                }
                settle(place, at: now, &effects)
            } else {
                send(place, at: now, &effects)
                return true
            }
        }
        return false
    }

    private mutating func send(_ place: Int, at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard var batch = places[place].batch else { preconditionFailure("nothing to send") }
        if permission == .none || wait != nil { beginRun(at: now) }
        batch.attempts += 1
        status.attempts += 1
        let id = newID()
        pace.left(id, events: batch.events, at: now)
        places[place].batch = batch
        places[place].request = id
        effects.append(.send(requests.post(batch, id: id, isPlain: compression.isOff)))
    }

    /// Cuts the next batch for a place; nil where nothing is queued, or nothing is read yet.
    private mutating func formNext(_ place: Int, at now: Instant, _ effects: inout [DeliveryEffect]) -> Batch? {
        guard let index = nextLog(place, at: now) else { return nil }
        guard !backlogs[index].ahead.isEmpty else {
            read(index, at: now, &effects)
            return nil
        }
        return form(index)
    }

    /// Cuts the batch after the one in flight where it would not grow by waiting.
    private mutating func prepare(_ place: Int, at now: Instant) {
        guard places[place].request != nil, places[place].prepared == nil, let index = nextLog(place, at: now),
            !backlogs[index].ahead.isEmpty, backlogs[index].suspects == nil, places[place].aside == nil,
            !letters.isNext
        else { return }
        limitBatch(of: index)
        guard forming.isFull(backlogs[index]) else { return }
        places[place].prepared = form(index)
    }

    /// Says how large the next batch of a log may be.
    private mutating func limitBatch(of index: Int) {
        let isNeighbour = places[Place.index(of: backlogs[index].log)].aside != nil
        forming.maximumEvents = isNeighbour ? 1 : min(fullEvents, backlogs[index].suspects?.half ?? .max)
        forming.maximumEvents = min(forming.maximumEvents, pace.mostEvents)
        forming.maximumBytes = min(fullBytes, sizeLimit.bytes ?? .max)
    }

    private mutating func form(_ index: Int) -> Batch {
        limitBatch(of: index)
        if Place.index(of: backlogs[index].log) == Place.rest {
            sinceBulk = backlogs[index].log == .bulk ? 0 : sinceBulk + 1
            turns += 1
            backlogs[index].turn = turns
            letters.isTheirTurn = true
        }
        return forming.form(from: &backlogs[index], sentConnectionType: connectionType, nonce: random.next())
    }

    /// The log whose turn it is: of the rest `bulk` when nothing else waits, and at least every eighth time; of the
    /// others the one that had none for longest.
    func nextLog(_ place: Int, at now: Instant) -> Int? {
        let waiting = backlogs.indices.filter { index in
            let backlog = backlogs[index]
            return Place.index(of: backlog.log) == place && backlog.hasUnformed && mayLeave(backlog.log)
                && (!backlog.ahead.isEmpty || hasRoomToRead && (backlog.readableFrom.map { $0 <= now } ?? true))
        }
        let bulk = waiting.first { backlogs[$0].log == .bulk }
        if let bulk, sinceBulk >= 7 { return bulk }
        return waiting.filter { $0 != bulk }.min { backlogs[$0].turn < backlogs[$1].turn } ?? bulk
    }

    /// However many categories there are, no more is read ahead than three lanes may have.
    private var hasRoomToRead: Bool {
        let least = min(Self.chunkBytes, readAheadBytes)
        let taken = backlogs.reduce(0) { $0 + $1.aheadBytes + ($1.read == nil ? 0 : least) }
        return taken < LogName.lanes.count * (readAheadBytes + least)
    }

    /// Events wait that may leave by the network that there is.
    var hasBacklog: Bool { backlogs.contains { !$0.isEmpty && mayLeave($0.log) } }

    /// Events wait that a batch could be made of now.
    func hasQueued(at now: Instant) -> Bool {
        places.indices.contains { places[$0].batch != nil || nextLog($0, at: now) != nil }
    }

    private mutating func read(_ index: Int, at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard mayLeave(backlogs[index].log), backlogs[index].mayRead(limitBytes: readAheadBytes, at: now),
            hasRoomToRead
        else { return }
        let id = newID()
        backlogs[index].beginRead(id)
        effects.append(
            .read(
                id: id, backlogs[index].log, from: backlogs[index].unread,
                limitBytes: min(Self.chunkBytes, readAheadBytes)))
    }

    /// Counts the place's batch as disposed of, and returns it.
    @discardableResult
    mutating func settle(_ place: Int, at now: Instant, _ effects: inout [DeliveryEffect]) -> Batch {
        if let batch = places[place].batch, batch.isLetter {
            places[place].batch = nil
            effects.append(.resolve(batch.log, sequence: batch.sequences.lowerBound))
            return batch
        }
        guard let batch = places[place].batch.take(),
            let index = backlogs.firstIndex(where: { $0.log == batch.log })
        else { preconditionFailure("nothing to settle") }
        precondition(backlogs[index].low >= batch.sequences.lowerBound)
        backlogs[index].suspects?.events -= batch.events
        backlogs[index].settle(through: batch.sequences.upperBound)
        effects.append(.settle(batch.log, batch.dispositions))
        advanceRun(by: batch.dispositions.ledger.delivered, at: now, &effects)
        return batch
    }

    /// Lets go of what is read and prepared, so that it is formed anew, with the marks of now.
    mutating func reform() {
        for place in places.indices { places[place].prepared = nil }
        for index in backlogs.indices { reform(index) }
    }

    mutating func reform(_ index: Int) {
        let kept = places.flatMap { [$0.batch, $0.aside?.batch].compactMap { $0 } }
        let last = kept.filter { $0.log == backlogs[index].log }.map(\.sequences.upperBound).max()
        backlogs[index].rewind(to: max(backlogs[index].low, last.map { $0 + 1 } ?? 0))
    }

    mutating func newID() -> UInt64 {
        lastID += 1
        return lastID
    }

    mutating func beginRun(at now: Instant) {
        guard run == nil, !isDrained else { return }
        run = FlushRun(began: now, targets: backlogs.map { ($0.log, $0.newest) })
    }

    mutating func advanceRun(by events: UInt64, at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard var current = run else { return }
        current.events += events
        let isOver = current.targets.allSatisfy { target in
            !mayLeave(target.log) || backlogs.contains { $0.log == target.log && $0.low > target.newest }
        }
        run = isOver ? nil : current
        if isOver, current.events > 0 {
            effects.append(.notice(.flushed(events: current.events, over: now - current.began)))
        }
    }
}

internal import Bytes
internal import Posix

extension Queue {
    /// Takes everything out of a log, its dead letters as well; it is gone from the disk when this returns.
    ///
    /// Counts it as purged; how many events some destination still had. What was delivered before may be gone or not.
    ///
    /// - Throws: `failed`; then some of it may be gone, and what is not is purged by the next call.
    package func purge(log name: LogName) throws(QueueError) -> UInt64 {
        var purge = try beginPurge(log: name)
        _ = try finish(&purge.letters)
        return purge.events
    }

    /// Takes the events of a log out, which are gone from the disk when this returns; `advance` does it to its letters.
    ///
    /// Counts as `purge` does.
    package func beginPurge(log name: LogName) throws(QueueError) -> (events: UInt64, letters: LetterWork) {
        try completeStart()
        guard unlisted != nil || logs[name] != nil else { return (0, remove([])) }
        let log = state(of: name)
        // What the start could not read is there all the same.
        try completeRecovery(of: log)
        guard log.last > 0 || !log.segments.isEmpty || log.spare != nil else { return (0, remove([])) }
        let low = leastLow(in: name) ?? log.oldest
        let keys = letterKeys().filter { $0.log == name }
        let letters = keys.flatMap { deadLetters.letters(of: $0, from: 0).map(\.sequence) }
        let events = log.last + 1 - low + UInt64(Set(letters.filter { $0 < low }).count)
        try deadLetters.synchroniseFolders()
        // What has a letter that its cursor has not passed counts as purged with the events.
        let all = MeantLetters.all(of: Set(keys.map(\.destination)))
        let pending = numbers(of: all) { $0.log == name && $1.stage.isCounted && !hasPassed($1, $0) }
        var first = remove(pending)
        _ = try finish(&first)
        for (key, cursor) in cursors.sorted(by: { $0.key.destination < $1.key.destination }) where key.log == name {
            guard cursor.state.low <= log.last else { continue }
            let rest = Disposition(.purged, cursor.state.low...log.last)
            settle(destination: key.destination, log: name, [rest])
            moves.append(
                CursorMove(
                    destination: key.destination, log: name, low: log.last + 1, kind: .purged, count: rest.count))
        }
        try synchroniseCursors()
        log.isPurgeUnfinished = true
        try replaceSegments(of: log)
        return (events, remove(numbers(of: all) { $0.log == name && $1.stage.isCounted }))
    }

    /// Takes away the files that purges had to leave when the disk failed, once what came to the log since is settled.
    func finishPurges() throws(QueueError) {
        for log in logsInOrder where log.isPurgeUnfinished && isSettled(log) { try replaceSegments(of: log) }
    }

    /// Unlinks all files of a log but a new segment without events, whose name says how far it has come.
    private func replaceSegments(of log: LogState) throws(QueueError) {
        log.kept.removeAll()
        log.mustCommitAgain = false
        log.failedRead = (0, 0)
        lookedUpAges = lookedUpAges.filter { $0.key.log != log.name }
        letGo(of: log.segments.map(\.name.id), in: log)
        // It may be an old segment.
        log.spare = nil
        try storage.unlinkIfThere(log.folder + "/" + SpareSegment.name)
        let writer = try openSegment(of: log, for: 0, first: log.last + 1, lastMoment)
        log.tip = SegmentHeader.Previous(segment: writer.id, validLength: writer.offset, last: log.last)
        let names = try attempt(.list, log.folder) { () throws(Errno) in try storage.names(in: log.folder) }
        for text in names {
            let segment = SegmentName(text: text)
            guard segment.map({ $0.id != writer.id }) ?? (text == SegmentRewrite.name) else { continue }
            try storage.unlinkIfThere(log.folder + "/" + text)
        }
        log.segments.removeAll { $0.name.id != writer.id }
        try synchroniseNames(of: log)
        try quarantine.remove(log.name)
        log.isPurgeUnfinished = false
    }

    /// Takes an event out, its dead letters as well; it is gone from the disk when this returns.
    package func purge(id: EventID) throws(QueueError) -> UInt64 { try purge(ids: [id]) }

    /// Takes events out, their dead letters as well; they are gone from the disk when this returns.
    ///
    /// Each becomes a hole, which counts as purged when a cursor passes it. How many some destination still had, those
    /// not among them that were purged before; what was delivered to all is gone as well where its segment is still
    /// there.
    ///
    /// - Throws: `failed`; then some may be gone, and the next call goes on, and counts them.
    package func purge(ids: [EventID]) throws(QueueError) -> UInt64 {
        try completeStart()
        try deadLetters.synchroniseFolders()
        untoldPurged.formIntersection(ids)
        for log in logsInOrder {
            let wanted = Set(ids).filter { $0.sequence >= 1 && $0.sequence <= log.last }
            guard !wanted.isEmpty else { continue }
            makeHoles(of: wanted, inKeptOf: log)
            let first = log.segments.lazy.map(\.name.first).min() ?? .max
            let hasGone = wanted.contains { $0.sequence < first }
            if hasGone, log.spare?.isRecycled ?? false {
                log.spare = nil
                try storage.unlinkIfThere(log.folder + "/" + SpareSegment.name)
            }
            try requireNoneLeftOut(of: log, through: wanted.lazy.map(\.sequence).max() ?? 0)
            var holes: Set<EventID> = []
            for index in try segments(of: log, holding: wanted, orOldBytes: hasGone) {
                holes.formUnion(try rewrite(index, of: log, without: wanted))
            }
            // Also where an earlier call failed after it had made them, and where the segment has just gone.
            try synchroniseNames(of: log)
            let letters = try letters(of: wanted, in: log.name, known: holes)
            untoldPurged.formUnion(letters.ids)
            try remove(letters.names)
        }
        defer { untoldPurged = [] }
        return UInt64(untoldPurged.count)
    }

    /// A start leaves a file that it cannot read out of the log, and the next one may have it back.
    ///
    /// - Throws: `failed` where one that begins no later than the event cannot be read still, or is one of the log's.
    private func requireNoneLeftOut(of log: LogState, through last: UInt64) throws(QueueError) {
        let names = try attempt(.list, log.folder) { () throws(Errno) in try storage.names(in: log.folder) }
        for name in names.compactMap(SegmentName.init(text:)) where name.first <= last {
            guard !log.segments.contains(where: { $0.name == name }), try isBorneOut(name, of: log) else { continue }
            try attempt(.read, log.path(of: name)) { () throws(Errno) in throw .io }
        }
    }

    /// Indices of the segments in which the events may be, the newest first.
    ///
    /// From the newest that may hold one back to the first of which the next one's header says that it ends before:
    /// each start commits the newest events again, so that there may be a row of copies, some of them not whole, and a
    /// commit that failed leaves behind that end what a later segment has. With `orOldBytes` all that were another
    /// segment before, whose bytes may still stand in them.
    private func segments(
        of log: LogState, holding ids: Set<EventID>, orOldBytes: Bool
    ) throws(QueueError) -> [Int] {
        // Whatever proves to be none of the log's is left out, and indices are others from then on.
        for index in log.segments.indices.reversed() { _ = isProven(index, of: log) }
        var found: Set<Int> = []
        for index in log.segments.indices where orOldBytes {
            if try header(of: log, index)?.isRecycled ?? true { found.insert(index) }
        }
        for id in ids {
            guard var index = log.index(holding: id.sequence) else { continue }
            found.insert(index)
            while index > 0 {
                let previous = try header(of: log, index)?.previous
                index -= 1
                found.insert(index)
                if let previous, previous.segment == log.segments[index].name.id, previous.last < id.sequence { break }
            }
        }
        return found.sorted(by: >)
    }

    /// Batches that may be committed again must not bring the events back.
    private func makeHoles(of ids: Set<EventID>, inKeptOf log: LogState) {
        var first = log.last + 1 - log.kept.reduce(0) { $0 + UInt64($1.count) }
        for index in log.kept.indices {
            let count = UInt64(log.kept[index].count)
            let epoch = log.kept[index].origin?.epoch ?? log.epoch
            for id in ids where id.epoch == epoch && id.sequence >= first && id.sequence < first + count {
                log.kept[index].makeHole(at: Int(id.sequence - first))
            }
            first += count
        }
    }

    /// Rewrites a segment where it holds one of the events; returns those that are holes in it then.
    private func rewrite(
        _ index: Int, of log: LogState, without ids: Set<EventID>
    ) throws(QueueError) -> Set<EventID> {
        let segment = log.segments[index].name
        let path = log.path(of: segment)
        let validLength = try validLength(of: index, in: log)
        let source = try attempt(.open, path) { () throws(Errno) in try storage.open(path, .readOnly) }
        var size = 0
        let rewrite = try attempt(.read, path) { () throws(Errno) in
            size = try source.size()
            window.attach(source, end: size, isTolerant: false)
            defer { window.detach() }
            return try SegmentRewrite(
                window, segment, seal: identity.seal, size: size, validLength: validLength, events: ids)
        }
        guard !rewrite.patches.isEmpty else { return rewrite.holes }
        if roomToGrow(log.name, in: try space()) < size {
            for log in logsInOrder where log.spare != nil { dropSpare(of: log) }
        }
        for patch in rewrite.patches { try quarantine.remove(log.name, segment: segment.id, in: patch.range) }
        letGo(of: [segment.id], in: log)
        let newPath = log.folder + "/" + SegmentRewrite.name
        try storage.unlinkIfThere(newPath)
        do throws(QueueError) {
            try attempt(.write, newPath) { () throws(Errno) in
                let new = try storage.open(newPath, .createNew)
                try rewrite.copy(source, size: size, to: new)
                try new.synchroniseData()
                try storage.rename(newPath, to: path)
            }
        } catch {
            try? storage.unlink(newPath)
            throw error
        }
        let low = leastLow(in: log.name) ?? 1
        untoldPurged.formUnion(rewrite.newHoles.filter { $0.sequence >= low })
        log.segments[index].allocated = size
        try synchroniseNames(of: log)
        return rewrite.holes
    }

    /// How far a segment was acknowledged, as the next one's header or the log itself says; nil where neither does.
    private func validLength(of index: Int, in log: LogState) throws(QueueError) -> Int? {
        let id = log.segments[index].name.id
        if let tip = log.tip, tip.segment == id { return tip.validLength }
        guard index + 1 < log.segments.count, let next = try header(of: log, index + 1),
            let previous = next.previous, previous.segment == id
        else { return nil }
        return previous.validLength
    }

    /// Has nobody read or write files any more that are about to be replaced.
    private func letGo(of segments: [UInt64], in log: LogState) {
        if let writer = log.writer, segments.contains(writer.id) { log.writer = nil }
        log.places.removeAll()
        openFiles.removeAll { segments.contains($0.segment) }
    }

    /// The dead letters of events; of one that is in no segment, the letter itself must say that it is the event's.
    private func letters(
        of ids: Set<EventID>, in log: LogName, known: Set<EventID>
    ) throws(QueueError) -> (names: [DeadLetterName], ids: Set<EventID>) {
        var names: [DeadLetterName] = []
        var found: Set<EventID> = []
        for key in deadLetters.keys.filter({ $0.log == log }).sorted(by: { $0.destination < $1.destination }) {
            for id in ids {
                let name = DeadLetterName(destination: key.destination, log: log, sequence: id.sequence)
                guard deadLetters.stage(of: name) != nil else { continue }
                if !known.contains(id) {
                    do throws(QueueError) {
                        guard try deadLetters.read(name)?.id == id else { continue }
                    } catch {
                        guard case .damagedLetter = error else { throw error }
                        continue
                    }
                }
                names.append(name)
                found.insert(id)
            }
        }
        return (names.sorted(), found)
    }
}

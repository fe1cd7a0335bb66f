internal import Bytes
internal import Posix
internal import Time

extension Queue {
    private static let maximumKeyed = 65_536
    private static let strayInterval = Duration.seconds(60)
    /// More segments than a folder that could not be listed has beyond those that could be.
    private static let unseenSegments: UInt64 = 1 << 24
    private static let ownEntries = [
        "FORMAT", "FORMAT.new", "LOCK", "cursors", "cursors.new", ClockRecord.path, ConsentRecord.path,
        ConsentRecord.newPath, LogState.folder, Quarantine.folder, DeadLetterStore.folder, "lost+found",
    ]

    /// Brings logs and cursors to where the last run left them.
    func recover(names: [String], at wall: WallTime) {
        recovery.strays += Self.strays(among: names)
        recovery.clock = readClock()
        recovery.age = recovery.clock?.age ?? 0
        // The cursors first: beside a daemon that goes on, they would be ahead of a log that was read before.
        let found = loadCursors()
        // From here on, so that no segment goes to make room before what says that it may is durable.
        if unwrittenFormat == nil { cursorFile.renew() }
        if names.contains(LogState.folder) { recoverLogs() }
        recoverConsent(isThere: names.contains(ConsentRecord.path), used: found.slots.map(\.log) + logs.keys)
        lastMoment = Moment(wall: wall, age: recovery.age)
        commitTails()
        recoverLetters()
        recoverCursors(found)
        recovery.keyed.removeFirst(max(0, recovery.keyed.count - Self.maximumKeyed))
    }

    private static func strays(among names: [String]) -> [String] { names.filter { !ownEntries.contains($0) } }

    /// Looks once a minute, while there is work, for what has come into the directory, or gone from it.
    func lookForStrays(at now: Instant) {
        guard now >= straysDue else { return }
        straysDue = now + Self.strayInterval
        let found = Self.strays(among: (try? storage.names(in: "")) ?? []).filter { !strayFiles.contains($0) }
        newStrays += found
        strayFiles.measure(adding: newStrays, in: storage)
    }

    private func recoverLogs() {
        do throws(QueueError) {
            try listLogs()
        } catch {
            unlisted = error
            recovery.note(error)
        }
        leaveDoubles()
        // The tails are read once all names are known, so that no segment id is given twice whatever fails.
        for log in logsInOrder where log.unrecovered == nil {
            do throws(QueueError) { try recoverTail(log) } catch { leave(log, error) }
        }
    }

    private func listLogs() throws(QueueError) {
        let names = try attempt(.list, LogState.folder) { () throws(Errno) in try storage.names(in: LogState.folder) }
        let areDurable = makeFoldersDurable()
        for text in names {
            guard let name = LogName(text: text) else {
                recovery.strays.append(LogState.folder + "/" + text)
                continue
            }
            let log = state(of: name)
            log.directoryExists = areDurable
            do throws(QueueError) { try listSegments(log) } catch { leave(log, error) }
        }
        if logs.values.contains(where: { $0.unrecovered != nil }) { nextSegment += Self.unseenSegments }
    }

    /// Keeps a log that could not be read from being written.
    private func leave(_ log: LogState, _ error: QueueError) {
        log.unrecovered = error
        log.failedScans = min(log.failedScans + 1, Self.triesBeforeDamage)
        log.segments.removeAll()
        recovery.note(error)
    }

    /// Reads a log that could not be read before.
    ///
    /// Until that is done nothing may be committed to it: numbers, and names of segments, would be given twice.
    func completeRecovery(of log: LogState) throws(QueueError) {
        if let error = unlisted {
            for log in logs.values { log.unrecovered = error }
            try listLogs()
            unlisted = nil
            for log in logs.values { log.unrecovered = error }
        }
        guard log.unrecovered != nil else { return }
        let last = log.last
        let told = recovery.damages.count
        (log.last, log.spare) = (0, nil)
        log.segments.removeAll()
        log.unrecovered = nil
        do throws(QueueError) {
            do throws(QueueError) {
                try listSegments(log)
            } catch  where error.isMissingEntry {}
            leaveDoubles()
            try recoverTail(log)
        } catch {
            leave(log, error)
            log.last = last
            throw error
        }
        commitTails()
        if leastLow(in: log.name) != nil { reportIfGone(log) }
        if log.last < last { pass(log.last + 1...last, lostBy: log) }
        nameEnd(of: log)
        newDamages += recovery.damages[told...]
        guard log.last > 0 else { return }
        _ = addCursors(to: log)
        let lows = cursors.filter { $0.key.log == log.name }.map { ($0.key.destination, $0.value.state.low) }
        lateLogs.append(LateLog(name: log.name, last: log.last, lows: Dictionary(uniqueKeysWithValues: lows)))
    }

    /// The logs that were read since the last call, which the start could not read.
    package func takeLateLogs() -> [LateLog] {
        defer { lateLogs.removeAll() }
        return lateLogs
    }

    /// The failure of a start that keeps a log from being written.
    var recoveryFailure: QueueError? { unlisted ?? logsInOrder.lazy.compactMap(\.unrecovered).first }

    /// A run that was killed may have made folders whose names are not durable yet.
    private func makeFoldersDurable() -> Bool {
        do throws(QueueError) {
            try synchroniseLogNames()
            return true
        } catch {
            recovery.note(error)
            return false
        }
    }

    private func listSegments(_ log: LogState) throws(QueueError) {
        let names = try attempt(.list, log.folder) { () throws(Errno) in try storage.names(in: log.folder) }
        for text in names where text != SpareSegment.name {
            let path = log.folder + "/" + text
            if text == SegmentRewrite.name {
                try? storage.unlink(path)
                continue
            }
            guard let name = SegmentName(text: text) else {
                recovery.strays.append(path)
                continue
            }
            if name.id <= SegmentName.maximumUnprovenID { nextSegment = max(nextSegment, name.id + 1) }
            let status = try attempt(.status, path) { () throws(Errno) in try storage.status(of: path) }
            guard status.kind == .regular else {
                recovery.strays.append(path)
                continue
            }
            log.segments.append(
                LogState.Segment(
                    name: name, size: status.size, allocated: status.allocated, isSound: false, isProven: false))
        }
        guard names.contains(SpareSegment.name) else { return }
        let path = log.folder + "/" + SpareSegment.name
        // A spare of an earlier run is as good as a new one, but what it holds is not known to be zeros.
        if let file = try? storage.open(path, .readWrite), let size = try? file.size() {
            log.spare = SpareSegment(file, filled: 0, size: size, isRecycled: true)
        }
    }

    /// Finds the newest event, in the newest segment that has one.
    private func recoverTail(_ log: LogState) throws(QueueError) {
        var known: UInt64?
        var unproven: [SegmentName] = []
        var tails: [Tail] = []
        var hollow: [(name: SegmentName, known: UInt64)] = []
        var damages: [(damage: RecoveryReport.Damage, file: any StorageFile)] = []
        for index in log.segments.indices.reversed() {
            let name = log.segments[index].name
            let scanned = try scan(log.segments[index], of: log)
            let scan = scanned.scan
            guard name.isBorneOut(by: scanned.header, hasBatch: scan.batches > 0, of: log.name, identity: identity)
            else {
                unproven.append(name)
                continue
            }
            log.segments[index].isProven = true
            nextSegment = max(nextSegment, name.id + 1)
            damages += scan.damages.map { ($0, scanned.file) }
            known = max(known ?? 0, scan.last, scanned.header?.previous?.last ?? 0)
            recovery.salvaged += scan.salvaged
            recovery.keyed += scan.keyed
            guard scan.batches > 0 else {
                if scan.salvaged == 0, scan.damages.isEmpty, let previous = scanned.header?.previous {
                    hollow.append((name, previous.last))
                }
                continue
            }
            recovery.age = max(recovery.age, scan.age)
            tails.append(scanned)
            break
        }
        leaveStrays(of: log, unproven, beyond: known)
        // Where nothing else is left, a name tells how many events came before.
        let named = unproven.map(\.first).filter { $0 <= SegmentName.maximumUnprovenSequence }.max()
        log.last = known ?? named.map { $0 - 1 } ?? 0
        for (damage, file) in damages where log.segments.contains(where: { $0.name.id == damage.segment }) {
            report(damage, in: file)
        }
        guard let newest = tails.first else { return }
        // Old bytes of a recycled file may be a batch that a lost write has hidden.
        if let header = newest.header, !header.isRecycled {
            log.slack = (newest.segment.name, roundedUp(newest.scan.validEnd, to: 4_096))
        }
        // Opened after a commit had failed of which the disk has more than its header knows: it would hide that.
        for (name, known) in hollow where name.first <= log.last && known < log.last { forget(name, of: log) }
        for segment in log.segments.reversed() where segment.name.id < newest.segment.name.id {
            guard tails.last?.isCutOff ?? false else { break }
            let scanned = try scan(segment, of: log)
            let hasBatch = scanned.scan.batches > 0
            guard hasBatch,
                segment.name.isBorneOut(by: scanned.header, hasBatch: true, of: log.name, identity: identity)
            else { continue }
            // A header would say how much of it was accepted, had it not been damaged.
            if tails[tails.count - 1].header == nil { log.last = max(log.last, scanned.scan.last) }
            tails.append(scanned)
        }
        log.tip = SegmentHeader.Previous(
            segment: newest.segment.name.id, validLength: newest.scan.validEnd, last: log.last)
        try keep(tails, of: log)
    }

    func scan(_ segment: LogState.Segment, of log: LogState) throws(QueueError) -> Tail {
        let path = log.path(of: segment.name)
        return try attempt(.read, path) { () throws(Errno) in
            let file = try storage.open(path, .readOnly)
            window.attach(file, end: segment.size, isTolerant: log.failedScans == Self.triesBeforeDamage)
            defer { window.detach() }
            let header = try SegmentScan.header(window, segment: segment.name.id)
            let scan = try SegmentScan(
                window, log: log.name, segment: segment.name, seal: identity.seal, size: segment.size)
            return Tail(segment: segment, file: file, header: header, scan: scan)
        }
    }

    /// Leaves alone files that have only the name of a segment, and those that begin beyond the last event.
    private func leaveStrays(of log: LogState, _ unproven: [SegmentName], beyond last: UInt64?) {
        let isStray = { (segment: LogState.Segment) in
            unproven.contains(segment.name) || last.map { segment.name.first > $0 + 1 } ?? false
        }
        recovery.strays += log.segments.filter(isStray).map { log.path(of: $0.name) }
        log.segments.removeAll(where: isStray)
    }

    /// Copies damaged bytes aside and names them, unless an earlier start did.
    private func report(_ damage: RecoveryReport.Damage, in file: any StorageFile) {
        if damage.kind != .repaired {
            let isThere = damage.kind != .lostWrite && damage.kind != .missingTail
            let length = isThere ? damage.length : 0
            guard quarantine.take(file, of: damage.log, segment: damage.segment, at: damage.offset, count: length)
            else { return }
        }
        if recovery.damages.count < RecoveryReport.maximumDamages { recovery.damages.append(damage) }
    }

    private func loadCursors() -> CursorFile.Found {
        let found = cursorFile.load()
        if let failure = cursorFile.failure { recovery.note(failure) }
        recovery.damagedSlots = found.damaged
        for slot in found.slots {
            let key = CursorKey(destination: slot.destination, log: slot.log)
            guard let index = cursorFile.index(destination: slot.destination, log: slot.log) else { continue }
            let state = CursorState(low: slot.low, origin: slot.origin, ledger: slot.ledger)
            if let other = cursors[key], other.state.low >= state.low { continue }
            cursors[key] = Cursor(state: state, slot: index)
        }
        return found
    }

    private func recoverCursors(_ found: CursorFile.Found) {
        let known = cursors.sorted { $0.value.slot < $1.value.slot }
        for (key, cursor) in known {
            let log = state(of: key.log)
            reportIfGone(log)
            guard log.last < cursor.state.low - 1 else { continue }
            // The cursor passed events that the log has lost: their numbers must not be given again.
            pass(log.last + 1...cursor.state.low - 1, lostBy: log)
        }
        for log in logsInOrder { nameEnd(of: log) }
        let wasLost = found.damaged > 0 || (found.isMissing && !recovery.isNew)
        for log in logsInOrder where log.last > 0 {
            for reset in addCursors(to: log) where wasLost { recovery.cursorsReset.append(reset) }
        }
        recovery.cursorsReset.sort { ($0.destination, $0.log.text) < ($1.destination, $1.log.text) }
        reconcileLetters()
        do throws(QueueError) {
            try cursorFile.synchronise()
            try finishLetters()
        } catch {
            recovery.note(error)
        }
    }

    /// Tells of a log that has a cursor and not one segment: how many events it had nobody knows.
    private func reportIfGone(_ log: LogState) {
        guard log.segments.isEmpty, log.last == 0, !log.isGone, log.unrecovered == nil else { return }
        log.isGone = true
        guard recovery.damages.count < RecoveryReport.maximumDamages else { return }
        recovery.damages.append(
            RecoveryReport.Damage(
                kind: .missing, log: log.name, segment: 0, offset: 0, length: 0, sequences: nil))
    }

    /// Gives a log whose end is lost a segment without events whose name says how far it had come, so that the loss is
    /// told of once.
    private func nameEnd(of log: LogState) {
        guard log.unrecovered == nil, lock != nil, unwrittenFormat == nil, log.isGone || log.last > log.tip?.last ?? 0
        else { return }
        guard !log.segments.contains(where: { $0.name.first == log.last + 1 }) else { return }
        if beginEmptySegment(of: log, lastMoment) { log.isGone = false }
    }

    /// Has a log go on behind events that it has lost.
    func pass(_ sequences: ClosedRange<UInt64>, lostBy log: LogState) {
        log.last = sequences.upperBound
        // The batches of a segment follow each other without gaps.
        log.writer = nil
        // What was kept does not end there and would be given other numbers.
        log.kept.removeAll()
        log.mustCommitAgain = false
        guard log.unrecovered == nil, !log.isGone, recovery.damages.count < RecoveryReport.maximumDamages else {
            return
        }
        recovery.damages.append(
            RecoveryReport.Damage(
                kind: log.segments.isEmpty ? .missing : .missingTail, log: log.name,
                segment: log.segments.last?.name.id ?? 0,
                offset: log.tip?.validLength ?? 0, length: 0, sequences: sequences))
    }

    /// The log of that name, made where there is none.
    func state(of name: LogName) -> LogState {
        if let log = logs[name] { return log }
        let log = LogState(name, epoch: randomBits())
        log.unrecovered = unlisted
        logs[name] = log
        return log
    }

    /// Gives each destination that has none a cursor at the oldest event kept; returns those it made.
    func addCursors(to log: LogState) -> [RecoveryReport.CursorReset] {
        let lacking = destinations.filter { cursors[CursorKey(destination: $0, log: log.name)] == nil }
        // What is offered first may have to be read for.
        guard log.unrecovered == nil, !lacking.isEmpty else { return [] }
        let first = firstOffered(by: log)
        var made: [RecoveryReport.CursorReset] = []
        for destination in lacking {
            let key = CursorKey(destination: destination, log: log.name)
            var state = CursorState(low: first, origin: first - 1, ledger: Ledger())
            // Those of a cursor that was lost.
            let letters = deadLetters.names(of: key) { $0 < state.low && $1.isCounted }
            leaveStrays(among: letters, atMost: letters.count)
            adopt(deadLetters.names(of: key) { $0 < state.low && $1.isCounted }, by: &state, of: key)
            cursors[key] = Cursor(state: state, slot: cursorFile.write(slot(key, state), at: nil))
            made.append(RecoveryReport.CursorReset(destination: destination, log: log.name, low: state.low))
        }
        return made
    }

    /// The oldest event kept, with which a new destination begins.
    ///
    /// What all others have passed need not be whole: a power cut may bring back segments without those behind them,
    /// and the oldest may begin with what another one held that is gone. A copy of that which is not whole is no
    /// damage: what there is without a gap up to its end is offered.
    private func firstOffered(by log: LogState) -> UInt64 {
        let oldest = oldest(of: log)
        guard let low = leastLow(in: log.name), oldest < low, oldestSegment(of: log) != nil else { return oldest }
        let first = firstWithoutGap(of: log, below: low)
        let begin = max(oldest, first == 0 ? oldest : log.segments[first].name.first)
        guard let previous = (try? header(of: log, first))?.previous, previous.last >= begin else {
            return min(begin, low)
        }
        let copy = content(of: log, first, from: begin, through: previous.last)
        var held = RangeSet<UInt64>()
        for record in copy.records { held.insert(contentsOf: record.sequence..<record.sequence + 1) }
        for run in copy.disposed where run.kind == .purged {
            held.insert(contentsOf: run.sequences.lowerBound..<run.sequences.upperBound + 1)
        }
        let end = previous.last + 1
        return min(held.ranges.last.flatMap { $0.upperBound == end ? $0.lowerBound : nil } ?? end, low)
    }

    /// The first segment from which on none is gone of those with events below `low`: each names the one before it.
    private func firstWithoutGap(of log: LogState, below low: UInt64) -> Int {
        var first = 0
        var index = 0
        while let next = next(behind: index, of: log), log.segments[next].name.first < low {
            let previous = (try? header(of: log, next))?.previous?.segment
            if let previous, !log.segments[first...].contains(where: { $0.name.id == previous }) { first = next }
            index = next
        }
        return first
    }

    func slot(_ key: CursorKey, _ state: CursorState) -> CursorSlot {
        CursorSlot(
            generation: 0, destination: key.destination, log: key.log, low: state.low, origin: state.origin,
            ledger: state.ledger)
    }
}

internal import Bytes
internal import Posix
package import Time

extension Queue {
    /// How long settled events may stay without a sync.
    private static let cursorDelay = Duration.seconds(1)
    /// How long after a failure it is tried again.
    private static let retryDelay = Duration.seconds(1)
    /// How long segments are not prepared after an error.
    private static let preparingRest = Duration.seconds(5)
    /// After so long without a commit the next segment is made ready without regard to them.
    private static let commitPause = Duration.milliseconds(500)

    /// Does one slice of background work and returns when it wants to be called again.
    ///
    /// `age` is the age clock now, in milliseconds. At or before `now`: there is more to do. Nil: nothing is due until
    /// something is committed or settled. What failed is tried again, and lack of room looked at again, each second.
    package func housekeep(at now: Instant, age: UInt64) -> Instant? {
        if commitFailure == nil {
            retryDue = nil
        } else if let due = retryDue {
            if now >= due {
                retryCommit()
                retryDue = now + Self.retryDelay
            }
        } else {
            retryDue = now + Self.retryDelay
        }
        let next = work(at: now, age)
        var space: Space?
        guard commitFailure != nil || refusal(of: .normal, &space) != nil else { return next }
        let again = min(retryDue ?? now + Self.retryDelay, now + Self.retryDelay)
        return min(next ?? again, again)
    }

    private func work(at now: Instant, _ age: UInt64) -> Instant? {
        if cursorFile.isDirty {
            let since = cursorsDirtySince ?? now
            cursorsDirtySince = since
            if now >= since + Self.cursorDelay { return synchroniseCursors(at: now) }
        }
        if let log = logsInOrder.first(where: { retirable($0) != nil }) {
            if retire(log, recycling: true) { return now }
            return now + Self.cursorDelay
        }
        if let log = logsInOrder.first(where: { $0.slack != nil }) {
            do throws(QueueError) { try releaseSlice(of: log) } catch { log.slack = nil }
            return now
        }
        retryLetters(at: now)
        lookForStrays(at: now)
        let heads = expireHeads(at: now, age: age)
        if let heads, heads <= now { return now }
        let due = [cursorsDirtySince.map { $0 + Self.cursorDelay }, heads, lettersDue].compactMap { $0 }.min()
        guard now >= preparingRestsUntil else { return min(due ?? preparingRestsUntil, preparingRestsUntil) }
        do throws(QueueError) {
            let pause = newestSync + Self.commitPause
            let lacking = logsInOrder.filter(lacksSpare)
            for log in lacking where now >= pause || isSpareBehind(log) {
                if try prepareSlice(of: log) { return now }
            }
            return lacking.isEmpty || now >= pause ? due : min(due ?? pause, pause)
        } catch {
            preparingRestsUntil = now + Self.preparingRest
            return min(due ?? preparingRestsUntil, preparingRestsUntil)
        }
    }

    /// Finishes what a purge or a call for dead letters had to leave when the disk failed.
    private func retryLetters(at now: Instant) {
        guard deadLetters.hasUnfinished || logs.values.contains(where: \.isPurgeUnfinished) else {
            return lettersDue = nil
        }
        guard now >= lettersDue ?? now else { return }
        do throws(QueueError) {
            try completeStart()
            try finishPurges()
            try finishLetters()
            lettersDue = nil
        } catch {
            lettersDue = now + Self.retryDelay
        }
    }

    private func synchroniseCursors(at now: Instant) -> Instant {
        do throws(QueueError) {
            try synchroniseCursors()
            return now
        } catch {
            cursorsDirtySince = now
            return now + Self.cursorDelay
        }
    }

    /// The oldest segment of a log, where every destination is past it; never the newest with events, whose name says
    /// how far the log has come, nor the one being written.
    private func retirable(_ log: LogState) -> LogState.Segment? {
        guard let oldest = oldestSegment(of: log), let low = passedLow(in: log.name), isPassed(0, of: log, below: low)
        else {
            return nil
        }
        return oldest
    }

    /// True where every event of a segment lies below `low`, and it is not one that a log cannot be without.
    func isPassed(_ index: Int, of log: LogState, below low: UInt64) -> Bool {
        guard let tip = log.tip, log.segments[index].name.id < tip.segment else { return false }
        return low > end(of: index, in: log) && low > lastAcknowledged(in: index, of: log)
    }

    /// The last of the segments that hold nothing but events of the oldest one again, which nobody waits for.
    private func lastCopy(ofOldestIn log: LogState) -> Int {
        let low = passedLow(in: log.name) ?? 0
        let last = lastAcknowledged(in: 0, of: log)
        var index = 0
        while let next = next(behind: index, of: log), end(of: next, in: log) <= last,
            isPassed(next, of: log, below: low), lastAcknowledged(in: next, of: log) <= last
        {
            index = next
        }
        return index
    }

    /// The last event that was ever acknowledged from a segment, as the next one's header says: where that one was
    /// opened to commit again and cut off, it begins no later, and holds nothing.
    ///
    /// Where that header is damaged, the first batch behind it says whether it was.
    func lastAcknowledged(in index: Int, of log: LogState) -> UInt64 {
        guard let behind = next(behind: index, of: log) else { return log.end(of: log.segments.count - 1) }
        guard let next = try? header(of: log, behind) else {
            let name = log.segments[behind].name
            if beginsWithNewEvents(name, of: log) { return name.first - 1 }
            // Whatever was acknowledged before a later one was opened, that one's header bounds.
            for later in log.segments.indices[(behind + 1)...] {
                if let bound = (try? header(of: log, later))?.previous?.last { return bound }
            }
            return log.end(of: log.segments.count - 1)
        }
        return next.lastAcknowledged(from: log.segments[index].name.id)
    }

    /// True where a segment's first batch can be read and was not made again.
    func beginsWithNewEvents(_ name: SegmentName, of log: LogState) -> Bool {
        guard let source = try? openFile(of: name, at: log.path(of: name)) else { return false }
        window.attach(source.file, end: source.size, isTolerant: false)
        defer { window.detach() }
        var walk = BatchWalk(
            window, segment: name.id, seal: identity.seal, from: Block.least,
            to: min(source.size, Block.most + BatchHeader.maximumSize),
            expecting: BatchPlace(number: 0, sequence: name.first))
        guard let found = try? walk.next(), found.header.number == 0 else { return false }
        return found.header.flags & BatchHeader.committedAgain == 0
    }

    /// Unlinks a segment that all have passed, or makes it the spare; first the cursors that say so become durable.
    func retire(_ log: LogState, recycling: Bool) -> Bool {
        retirable(log) != nil && removeOldest(of: log, recycling: recycling)
    }

    /// Takes away the oldest segment of a log, once all have passed it; before it, one by one, the copies of its end.
    ///
    /// A copy that a start cut off has left is not whole, and would be the oldest that there is.
    func removeOldest(of log: LogState, recycling: Bool) -> Bool {
        let index = lastCopy(ofOldestIn: log)
        let segment = log.segments[index]
        let path = log.path(of: segment.name)
        let settledEnd = min(log.end(of: index), (leastLow(in: log.name) ?? 1) - 1)
        do throws(QueueError) {
            try synchroniseCursors()
            if recycling, log.spare == nil, log.writer != nil, segment.isSound, !log.isPurgeUnfinished,
                segment.size == options.segmentBytes, segment.allocated >= segment.size, segment.filled > 0
            {
                let spare = log.folder + "/" + SpareSegment.name
                log.spare = try attempt(.rename, path) { () throws(Errno) in
                    let file = try storage.open(path, .readWrite)
                    try storage.rename(path, to: spare)
                    return SpareSegment(file, filled: segment.filled, size: segment.size, isRecycled: true)
                }
            } else {
                try attempt(.unlink, path) { () throws(Errno) in
                    do throws(Errno) { try storage.unlink(path) } catch  where error == .noEntry {}
                }
            }
        } catch {
            // An earlier call may have done what it gave an error for.
            guard case .failed(.rename, _, _, .noEntry) = error else { return false }
        }
        log.segments.remove(at: index)
        log.settledEnd = max(log.settledEnd, settledEnd)
        openFiles.removeAll { $0.segment == segment.name.id }
        return true
    }

    /// Gives back a slice of the room behind the last batch of a segment that an earlier run ended before it was full.
    ///
    /// Only where zeros stand: whatever else it is, it is left for whoever looks into the damage. Nothing is
    /// synchronised: a power cut may bring the room back, and a sync that fails would cast doubt on what was confirmed.
    private func releaseSlice(of log: LogState) throws(QueueError) {
        guard let (name, start) = log.slack, let index = log.segments.firstIndex(where: { $0.name == name }) else {
            return log.slack = nil
        }
        let path = log.path(of: name)
        // A file that was cut may end before the page in which its last batch does.
        let range = start..<max(start, min(start + window.step, log.segments[index].size))
        log.segments[index].allocated = try attempt(.write, path, at: start) { () throws(Errno) in
            let file = try storage.open(path, .readWrite)
            var bytes: [UInt8] = []
            guard !range.isEmpty, try file.read(upTo: range.count, at: start, into: &bytes) == range.count,
                bytes.isZero(in: bytes.indices)
            else {
                log.slack = nil
                return try storage.status(of: path).allocated
            }
            try file.release(range)
            log.slack?.offset = range.upperBound
            return try storage.status(of: path).allocated
        }
    }

    /// True once a quarter of the segment being written is full and the next one is not ready.
    private func lacksSpare(_ log: LogState) -> Bool {
        guard let writer = log.writer, writer.offset >= writer.size / 4 else { return false }
        return log.spare.map { $0.filled < options.segmentBytes } ?? true
    }

    /// True where the next segment is not as far as is needed for it to be ready when this one is three quarters full.
    ///
    /// A slice before each commit would make all of them wait for as long as a whole segment takes.
    private func isSpareBehind(_ log: LogState) -> Bool {
        guard let writer = log.writer else { return false }
        let needed = (writer.offset - writer.size / 4) * options.segmentBytes / (writer.size / 2)
        return log.spare?.filled ?? 0 < needed
    }

    /// Zero-fills a slice of the spare, where there is room for all of it; true where something was done.
    private func prepareSlice(of log: LogState) throws(QueueError) -> Bool {
        guard roomToGrow(log.name, in: try space()) >= options.segmentBytes - (log.spare?.size ?? 0) else {
            return false
        }
        let spare = try spare(of: log)
        let path = log.folder + "/" + SpareSegment.name
        do throws(QueueError) {
            try attempt(.write, path, at: spare.filled) { () throws(Errno) in
                try spare.fill(to: options.segmentBytes)
                try spare.file.synchroniseData()
            }
        } catch {
            dropSpare(of: log)
            throw error
        }
        return true
    }
}

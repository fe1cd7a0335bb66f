internal import Posix

extension Queue {
    /// A segment at the end of a log, as a start finds it.
    struct Tail {
        let segment: LogState.Segment
        let file: any StorageFile
        let header: SegmentHeader?
        let scan: SegmentScan

        /// True where it holds nothing but what an earlier start committed again, and is not whole.
        var isCutOff: Bool { scan.isCopy && !isWholeCopy }

        /// True where it holds all that an earlier start committed again, and nothing else.
        var isWholeCopy: Bool {
            scan.isCopy && scan.damages.isEmpty && header?.previous?.last == scan.last
        }
    }

    /// Keeps the batches of the newest two syncs, to be committed again.
    ///
    /// That they can be read says little: the run that wrote them was perhaps killed before its sync, or when a sync
    /// had failed, after which the kernel shows bytes that it never writes and the disk may have lost what the sync
    /// before had confirmed.
    ///
    /// The rule is that each event that was ever answered is at any moment durable in a segment in which reading finds
    /// it. A copy that was cut off is no such segment: of `tails`, the newest first, all but the last are such copies,
    /// and what they copy is taken from the last once more. They go once a new segment with all of it is durable.
    func keep(_ tails: [Tail], of log: LogState) throws(QueueError) {
        (log.copies, log.original, log.unconfirmed) = ([], nil, nil)
        for number in tails.indices.reversed() where try keep(tails[number], copiedBy: tails[..<number], of: log) {
            let tail = tails[number]
            log.copies = tails[..<number].map(\.segment.name)
            if number > 0 {
                let named = tails[number - 1].header?.previous
                log.original =
                    named?.segment == tail.segment.name.id
                    ? named
                    : SegmentHeader.Previous(
                        segment: tail.segment.name.id, validLength: tail.scan.validEnd, last: log.last)
            }
            if tail.isWholeCopy, let previous = tail.header?.previous {
                log.copies.append(tail.segment.name)
                log.original = previous
            }
            return
        }
    }

    /// Keeps the last events of a segment and all that `copies` begin to hold; false where it has not the very last.
    private func keep(
        _ tail: Tail, copiedBy copies: ArraySlice<Tail>, of log: LogState
    ) throws(QueueError) -> Bool {
        guard let newest = tail.scan.newestSync else { return false }
        let isNewestEnough =
            tail.scan.isSyncBeforeConfirmed && copies.allSatisfy { $0.segment.name.first >= newest.batch.sequence }
        let place = isNewestEnough ? newest : tail.scan.syncBefore ?? newest
        let kept = try attempt(.read, log.path(of: tail.segment.name)) { () throws(Errno) in
            window.attach(tail.file, end: tail.segment.size, isTolerant: true)
            defer { window.detach() }
            return try SegmentTail(
                window, log: log.name, segment: tail.segment.name.id, seal: identity.seal, from: place,
                size: tail.segment.size, through: log.last)
        }
        log.unconfirmed = min(log.unconfirmed ?? .max, place.batch.sequence)
        log.kept = kept.batches
        return !kept.batches.isEmpty
    }

    /// Commits the newest events of each log again, so that whatever is counted and answered from now on is durable.
    ///
    /// A log whose events are all settled has none that could be lost.
    func commitTails() {
        for log in logsInOrder {
            guard let first = log.unconfirmed else { continue }
            log.unconfirmed = nil
            let isSettled = leastLow(in: log.name).map { $0 > log.last } ?? false
            if isSettled { log.kept.removeAll() }
            guard !isSettled else { continue }
            if log.kept.isEmpty || !commitTail(of: log) {
                recovery.keyed.removeAll { $0.log == log.name && $0.id.sequence >= first }
            }
        }
    }

    /// True where what is kept is durable in a new segment.
    private func commitTail(of log: LogState) -> Bool {
        let tip = log.tip
        let first = log.last + 1 - log.kept.reduce(0) { $0 + UInt64($1.count) }
        log.tip = log.original ?? tip
        log.mustCommitAgain = true
        do throws(QueueError) {
            try commitKept(of: log)
        } catch {
            log.tip = tip
            recovery.failures.append(error)
            note(failure: error, of: log.name)
            return false
        }
        for copy in log.copies where copy.first >= first { forget(copy, of: log) }
        return true
    }
}

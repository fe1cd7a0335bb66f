internal import Posix

extension Queue {
    /// The newest segment of a log that has events, as a start finds it.
    struct Tail {
        let segment: LogState.Segment
        let file: any StorageFile
        let header: SegmentHeader?
        let scan: SegmentScan
    }

    /// Keeps the batches of the newest two syncs, to be committed again.
    ///
    /// That they can be read says little: the run that wrote them was perhaps killed before its sync, or when a sync
    /// had failed, after which the kernel shows bytes that it never writes and the disk may have lost what the sync
    /// before had confirmed.
    func keep(_ tail: Tail, of log: LogState) throws(QueueError) {
        guard let place = tail.scan.syncBefore ?? tail.scan.newestSync else { return }
        let kept = try attempt(.read, log.path(of: tail.segment.name)) { () throws(Errno) in
            window.attach(tail.file, end: tail.segment.size, isTolerant: true)
            defer { window.detach() }
            return try SegmentTail(
                window, log: log.name, segment: tail.segment.name.id, seal: identity.seal, from: place,
                size: tail.segment.size, through: log.last)
        }
        log.kept = kept.batches
        log.unconfirmed = place.batch.sequence
        let isWhole = tail.scan.isCopy && tail.scan.damages.isEmpty && kept.first == tail.segment.name.first
        if isWhole, tail.header?.previous != nil { log.copy = tail.header }
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
        if let copy = log.copy { log.tip = copy.previous }
        log.mustCommitAgain = true
        do throws(QueueError) {
            try commitKept(of: log)
        } catch {
            log.tip = tip
            log.copy = nil
            recovery.failures.append(error)
            note(failure: error, of: log.name)
            return false
        }
        if let copy = log.copy { forget(SegmentName(id: copy.segment, first: copy.first), of: log) }
        log.copy = nil
        return true
    }
}

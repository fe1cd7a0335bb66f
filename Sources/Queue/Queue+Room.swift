internal import Bytes
internal import Posix

extension Queue {
    /// Gives up all that holds no event which a destination still waits for; nothing else is needed to make it fit.
    ///
    /// A log whose events are all settled shrinks to a segment without events, whose name says how far it has come.
    /// Less urgent logs give the room that their newest segment still has, as far as `bytes` for this log need it.
    /// What fails stays.
    func makeRoom(for bytes: Int, in name: LogName, _ moment: Moment) {
        for log in logsInOrder where log.spare != nil { dropSpare(of: log) }
        for log in logsInOrder { while retire(log, recycling: false) {} }
        // That takes room, too.
        for log in logsInOrder {
            guard isSettled(log), log.bytes > emptySegmentBytes else { continue }
            guard beginEmptySegment(of: log, moment) else { continue }
            while retire(log, recycling: false) {}
        }
        for log in logs.values.sorted(by: { $0.name.urgency < $1.name.urgency }) where restBytes(log, for: name) > 0 {
            guard let space = try? space(), roomToGrow(name, in: space) < bytes else { return }
            giveUpRest(of: log)
        }
    }

    /// What the newest segment of a less urgent log has room for, bytes.
    private func restBytes(_ log: LogState, for name: LogName) -> Int {
        guard let writer = log.writer, !cannotGiveUpRests, log.name.moreUrgent.contains(lane(of: name)) else {
            return 0
        }
        return max(0, writer.size - roundedUp(writer.offset, to: 4_096))
    }

    /// Ends a log's newest segment, and gives back the room behind its last batch; a crash may bring it back.
    private func giveUpRest(of log: LogState) {
        guard let writer = log.writer, let index = log.segments.lastIndex(where: { $0.name.id == writer.id }) else {
            return
        }
        let path = log.path(of: log.segments[index].name)
        log.writer = nil
        // Written over again it would need room.
        log.segments[index].isSound = false
        do throws(Errno) {
            try storage.open(path, .readWrite).release(roundedUp(writer.offset, to: 4_096)..<writer.size)
            let allocated = try storage.status(of: path).allocated
            cannotGiveUpRests = allocated >= log.segments[index].allocated
            log.segments[index].allocated = allocated
        } catch {
            cannotGiveUpRests = true
        }
    }

    /// Has a log write to a segment without events from now on; what it wrote before is never committed again.
    func beginEmptySegment(of log: LogState, _ moment: Moment) -> Bool {
        do throws(QueueError) {
            let writer = try openSegment(of: log, for: 0, first: log.last + 1, moment)
            log.tip = SegmentHeader.Previous(segment: writer.id, validLength: writer.offset, last: log.last)
            log.kept.removeAll()
            return true
        } catch {
            return false
        }
    }

    /// True where a segment of so many bytes would fit after `makeRoom`; where not, the spares are better kept.
    func canMakeRoom(for bytes: Int, in name: LogName, _ space: Space) -> Bool {
        let missing = bytes - roomToGrow(name, in: space)
        return missing <= 0 || missing <= logs.values.reduce(0) { $0 + removable($1) + restBytes($1, for: name) }
    }

    /// About how many bytes of a log `makeRoom` would give up.
    func removable(_ log: LogState) -> Int {
        let spare = log.spare?.size ?? 0
        if isSettled(log) { return max(spare, log.bytes - emptySegmentBytes) }
        guard let low = leastLow(in: log.name), let tip = log.tip else { return spare }
        var bytes = spare
        var index = 0
        while oldestSegment(of: log) != nil, log.segments[index].name.id < tip.segment,
            isPassed(index, of: log, below: low), let next = next(behind: index, of: log)
        {
            bytes += log.segments[index].allocated
            index = next
        }
        return bytes
    }

    /// True where every destination has settled every event, and none must be committed again.
    private func isSettled(_ log: LogState) -> Bool {
        guard log.last > 0, log.unrecovered == nil, !log.mustCommitAgain, let low = leastLow(in: log.name) else {
            return false
        }
        return low > log.last
    }

    /// The lowest cursor of a log; nil where it has none.
    func leastLow(in log: LogName) -> UInt64? {
        cursors.lazy.filter { $0.key.log == log }.map(\.value.state.low).min()
    }
}

internal import Bytes
internal import Posix

extension Queue {
    /// Gives up all that holds no event which a destination still waits for, for a segment of so many bytes; nothing
    /// else is needed to make it fit.
    ///
    /// A log whose events are all settled shrinks to a segment without events, whose name says how far it has come.
    /// Room that others have ready for the next commits goes only to a log that is no less urgent. What fails stays.
    func makeRoom(for bytes: Int, in name: LogName, _ moment: Moment) {
        for log in logsInOrder where log.spare != nil && givesSpare(log, to: name) { dropSpare(of: log) }
        for log in logsInOrder {
            while retire(log, recycling: false) {}
            guard isSettled(log), log.bytes > emptySegmentBytes else { continue }
            guard beginEmptySegment(of: log, moment) else { continue }
            while retire(log, recycling: false) {}
        }
        for log in logsInOrder.sorted(by: { $0.name.urgency < $1.name.urgency }) where readyBytes(log, for: name) > 0 {
            guard let space = try? space(), roomToGrow(name, in: space) < bytes else { return }
            giveUpReadyRoom(of: log)
        }
    }

    /// What a less urgent log's newest segment has room for, which a more urgent one may have instead, bytes.
    private func readyBytes(_ log: LogState, for name: LogName) -> Int {
        guard log.name.urgency < name.urgency, canGiveUpReadyRoom, let writer = log.writer, !writer.isRecycled else {
            return 0
        }
        return max(0, writer.size - roundedUp(writer.offset, to: 4_096))
    }

    private func giveUpReadyRoom(of log: LogState) {
        guard let writer = log.writer, let index = log.segments.lastIndex(where: { $0.name.id == writer.id }) else {
            return
        }
        do throws(Errno) {
            try writer.giveUpReadyRoom()
            let allocated = try storage.status(of: log.path(of: log.segments[index].name)).allocated
            canGiveUpReadyRoom = allocated < log.segments[index].allocated
            log.segments[index].allocated = allocated
        } catch {
            canGiveUpReadyRoom = false
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

    /// Why a lane is refused now, be it for an event of one block or for what its newest commit needed in vain; nil
    /// where it is not.
    ///
    /// `known` is looked up where it is not known and needed.
    func refusal(of lane: LogName, _ known: inout Space?) -> QueueError? {
        let batch = max(blockSize, lackingBytes[lane] ?? 0)
        if let log = logs[lane], let writer = log.writer, !log.mustCommitAgain, writer.offset + batch <= writer.size {
            return nil
        }
        let needed = roundedUp(blockSize + batch, to: 4_096)
        do throws(QueueError) {
            let space = if let known { known } else { try space() }
            known = space
            if canMakeRoom(for: needed, in: lane, space) || canEvict(for: needed, in: lane, space) { return nil }
            return shortage(of: lane, for: needed, in: space)
        } catch {
            return error
        }
    }

    /// True where a segment of so many bytes would fit after `makeRoom`; where not, the spares are better kept.
    func canMakeRoom(for bytes: Int, in name: LogName, _ space: Space) -> Bool {
        let missing = bytes - roomToGrow(name, in: space)
        return missing <= 0 || missing <= logs.values.reduce(0) { $0 + removable($1, for: name, space) }
    }

    /// About how many bytes of a log `makeRoom` would give up.
    func removable(_ log: LogState, for name: LogName, _ space: Space) -> Int {
        let spare = givesSpare(log, to: name) ? log.spare?.size ?? 0 : 0
        // The segment without events that takes the place of the others needs a little.
        let canShrink = spare > 0 || space.available >= UInt64(emptySegmentBytes)
        if isSettled(log), canShrink { return max(spare, log.bytes - emptySegmentBytes) }
        guard let low = passedLow(in: log.name), let tip = log.tip else { return spare + readyBytes(log, for: name) }
        var bytes = spare + readyBytes(log, for: name)
        var index = 0
        while oldestSegment(of: log) != nil, log.segments[index].name.id < tip.segment,
            isPassed(index, of: log, below: low), let next = next(behind: index, of: log)
        {
            bytes += log.segments[index].allocated
            index = next
        }
        return bytes
    }

    private func givesSpare(_ log: LogState, to name: LogName) -> Bool {
        log.name.urgency <= name.urgency || isSettled(log)
    }

    /// True where every destination has settled every event, and none must be committed again.
    func isSettled(_ log: LogState) -> Bool {
        guard log.last > 0, log.unrecovered == nil, !log.mustCommitAgain, let low = passedLow(in: log.name) else {
            return false
        }
        return low > log.last
    }

    /// The lowest cursor of a log; nil where it has none.
    func leastLow(in log: LogName) -> UInt64? {
        cursors.lazy.filter { $0.key.log == log }.map(\.value.state.low).min()
    }

    /// What lies below it all destinations have settled; nil where one has no cursor, for one that is new, or whose
    /// cursor was lost, waits for all that there is.
    func passedLow(in log: LogName) -> UInt64? {
        destinations.allSatisfy { cursors[CursorKey(destination: $0, log: log)] != nil } ? leastLow(in: log) : nil
    }
}

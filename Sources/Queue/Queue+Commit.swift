internal import Bytes
internal import Gates
internal import Posix
package import Time

/// What became of one batch.
package enum CommitOutcome: Sendable, Equatable {
    /// It is durable: its events have the sequence numbers from `first` on and ids with `epoch`.
    case committed(log: LogName, epoch: UInt64, first: UInt64, count: Int)
    /// It is not, and its events are not accepted.
    case refused(QueueError)
}

extension Queue {
    /// When a commit was made, for headers.
    struct Moment {
        let wall: WallTime
        /// The age clock, milliseconds.
        let age: UInt64
    }

    /// Batches that are kept over one failure after another, no more.
    private static let mostCommittedAgain = 64

    /// Makes batches durable: gives sequence numbers, writes each to its log, syncs each log once.
    ///
    /// All batches of one log succeed or fail together; a log that is full or fails does not fail the others. The
    /// batches, none of which may be empty, come back empty, with storage to fill again. `age` is the age clock in
    /// milliseconds (rule 16).
    package func commit(_ batches: inout [OpenBatch], at wall: WallTime, age: UInt64) -> [CommitOutcome] {
        let moment = Moment(wall: wall, age: age)
        lastMoment = moment
        var outcomes = [CommitOutcome?](repeating: nil, count: batches.count)
        for start in batches.indices where outcomes[start] == nil {
            let log = state(of: batches[start].log)
            let group = batches.indices.filter { batches[$0].log == log.name }
            precondition(group.allSatisfy { batches[$0].count > 0 }, "an empty batch was committed")
            do throws(QueueError) {
                let again = try commit(group, of: &batches, to: log, moment)
                commitFailure = recoveryFailure
                lackingBytes[log.name.lane] = nil
                accept(group, of: &batches, in: log, keeping: again, moment, &outcomes)
            } catch {
                note(failure: error, of: log.name)
                for index in group {
                    batches[index].removeAll()
                    outcomes[index] = .refused(error)
                }
            }
        }
        return outcomes.compactMap { $0 }
    }

    /// Writes a group durably, in a new segment where the first try fails; returns how many batches were made durable
    /// again with it.
    private func commit(
        _ group: [Int], of batches: inout [OpenBatch], to log: LogState, _ moment: Moment
    ) throws(QueueError) -> Int {
        try completeStart()
        try completeRecovery(of: log)
        do throws(QueueError) {
            return try write(group, of: &batches, to: log, moment)
        } catch {
            guard case .failed = error else { throw error }
            giveUpSegment(of: log)
            do throws(QueueError) {
                return try write(group, of: &batches, to: log, moment)
            } catch {
                giveUpSegment(of: log)
                throw error
            }
        }
    }

    /// Commits again what must be, and nothing else.
    func commitKept(of log: LogState) throws(QueueError) {
        var none: [OpenBatch] = []
        let again = try commit([], of: &none, to: log, lastMoment)
        if again > Self.mostCommittedAgain { log.kept.removeAll() }
    }

    /// Keeps an error of the disk; lack of room is found from what there is.
    func note(failure: QueueError, of log: LogName) {
        switch failure {
        case .full, .noRoom: return
        default:
            commitFailure = failure
            failedLog = log
        }
    }

    /// Tries whether logs whose commit failed can be written again, with what must be committed again if anything.
    func retryCommit() {
        do throws(QueueError) {
            try completeStart()
            var failure: QueueError?
            for log in logsInOrder where log.mustCommitAgain || log.unrecovered != nil || log.name == failedLog {
                do throws(QueueError) { try commitKept(of: log) } catch { failure = failure ?? error }
            }
            if let failure { throw failure }
            commitFailure = nil
        } catch {
            switch (commitFailure, error) {
            case (.failed(_, _, _, .noSpace), .full), (.failed(_, _, _, .noSpace), .noRoom),
                (.failed(_, _, _, .quota), .full), (.failed(_, _, _, .quota), .noRoom):
                commitFailure = nil
            default: if case .failed = error { commitFailure = error }
            }
        }
    }

    /// A file that failed is never synced again; what it acknowledged last goes to the next segment once more.
    private func giveUpSegment(of log: LogState) {
        guard let writer = log.writer else { return }
        if let index = log.segments.lastIndex(where: { $0.name.id == writer.id }) {
            log.segments[index].isSound = false
            if log.tip?.segment != writer.id { forget(log.segments[index].name, of: log) }
        }
        log.writer = nil
        log.mustCommitAgain = !log.kept.isEmpty
        log.places.removeAll()
    }

    private func write(
        _ group: [Int], of batches: inout [OpenBatch], to log: LogState, _ moment: Moment
    ) throws(QueueError) -> Int {
        let again = log.mustCommitAgain ? log.kept.count : 0
        let firstAgain = log.last + 1 - UInt64(log.kept[..<again].reduce(0) { $0 + $1.count })
        let block = blockSize
        var needed = 0
        for index in 0..<again { needed += SegmentWriter.size(of: log.kept[index], block: block) }
        for index in group { needed += SegmentWriter.size(of: batches[index], block: block) }
        let writer: SegmentWriter
        if let current = log.writer, current.offset + needed <= current.size {
            writer = current
            try fill(writer, to: writer.offset + needed, of: log)
        } else {
            writer = try openSegmentMakingRoom(
                of: log, for: needed, first: firstAgain, evicting: !group.isEmpty, moment)
        }
        let path = log.segments.last.map { log.path(of: $0.name) } ?? log.folder
        let begin = writer.offset
        var next = firstAgain
        try attempt(.write, path, at: writer.offset) { () throws(Errno) in
            for index in 0..<again {
                try writer.write(&log.kept[index], first: next, again: true, at: moment.wall, age: moment.age)
                next += UInt64(log.kept[index].count)
            }
            for index in group {
                try writer.write(&batches[index], first: next, again: false, at: moment.wall, age: moment.age)
                next += UInt64(batches[index].count)
            }
        }
        let start = clock()
        try attempt(.synchronise, path, at: writer.offset) { () throws(Errno) in
            try writer.synchronise()
            // Nothing is written behind it before, so that a start need not commit it again once something was.
            if again > 0 { try writer.confirm() }
        }
        newestSync = clock()
        lastSyncMicroseconds = Int((newestSync - start).nanoseconds / 1_000)
        writtenBytes += UInt64(writer.offset - begin)
        log.mustCommitAgain = false
        // A segment that was only tried goes again when the next commit fails.
        guard writer.offset > begin else { return again }
        log.tip = SegmentHeader.Previous(segment: writer.id, validLength: writer.offset, last: next - 1)
        return again
    }

    /// Opens a segment; where there is no room for it, after what is not needed any more is given up, and then, for new
    /// events, the oldest ones, if that is what a full queue does.
    private func openSegmentMakingRoom(
        of log: LogState, for needed: Int, first: UInt64, evicting: Bool, _ moment: Moment
    ) throws(QueueError) -> SegmentWriter {
        let least = roundedUp(blockSize + needed, to: 4_096)
        var hasMadeRoom = false
        while true {
            do throws(QueueError) {
                return try openSegment(of: log, for: needed, first: first, moment)
            } catch {
                guard error.isLackOfRoom else { throw error }
                lackingBytes[log.name.lane] = needed
                let space = try space()
                if case .failed = error {
                    // It has less than it says, or a folder takes some: all that may be given up is, but no event.
                    guard !hasMadeRoom else { throw error }
                    makeRoom(for: .max, in: log.name, moment)
                    hasMadeRoom = true
                } else if !hasMadeRoom, canMakeRoom(for: least, in: log.name, space) {
                    makeRoom(for: least, in: log.name, moment)
                    hasMadeRoom = true
                } else {
                    guard evicting, canEvict(for: least, in: log.name, space), evict(for: log.name, moment) else {
                        throw error
                    }
                }
            }
        }
    }

    /// Counts a durable group and keeps its batches until the next, giving those kept before in exchange.
    ///
    /// What the same sync made durable again is kept as well: if the next one fails, the disk may have lost all of it.
    private func accept(
        _ group: [Int], of batches: inout [OpenBatch], in log: LogState, keeping again: Int, _ moment: Moment,
        _ outcomes: inout [CommitOutcome?]
    ) {
        let isFirst = log.last == 0
        var old: [OpenBatch] = []
        swap(&old, &log.kept)
        if again <= Self.mostCommittedAgain { log.kept.append(contentsOf: old[..<again]) }
        old.removeFirst(again)
        for index in group {
            let count = batches[index].count
            outcomes[index] = .committed(log: log.name, epoch: log.epoch, first: log.last + 1, count: count)
            log.last += UInt64(count)
            var exchanged = old.popLast() ?? OpenBatch(log: log.name, context: batches[index].context)
            exchanged.removeAll()
            swap(&batches[index], &exchanged)
            // Committed again they keep their age: what has expired once must not come back to life.
            exchanged.origin = OpenBatch.Origin(epoch: log.epoch, wall: moment.wall, age: moment.age)
            log.kept.append(exchanged)
        }
        if isFirst { _ = addCursors(to: log) }
        headsChanged = true
    }

    var blockSize: Int { options.block ?? storage.physicalBlock }
}

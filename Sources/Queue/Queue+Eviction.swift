internal import Posix

/// `WhenFull=drop-oldest` (rule 15): the oldest events make room for new ones, of no more urgent a log than these.
extension Queue {
    /// True where a segment of so many bytes would fit once all is given up that may be given up for it.
    func canEvict(for bytes: Int, in name: LogName, _ space: Space) -> Bool {
        guard options.whenFull == .dropOldest, !cursorsFailing else { return false }
        let missing = bytes - roomToGrow(name, in: space)
        let most = logs.values.reduce(0) { sum, log in
            let mayGo = log.name.urgency <= name.urgency
            return sum + (mayGo ? max(0, log.bytes - emptySegmentBytes) : removable(log, for: name, space))
        }
        return missing <= most
    }

    /// Gives up the oldest segment of the least urgent log that has one; false where there is none, or where the
    /// cursors cannot be made durable first.
    func evict(for name: LogName, _ moment: Moment) -> Bool {
        let candidates = logs.values.filter { $0.name.urgency <= name.urgency && hasEvictable($0) }
        let first = candidates.min { left, right in
            (left.name.urgency, left.segments[0].name.id) < (right.name.urgency, right.segments[0].name.id)
        }
        guard let log = first, endSegment(of: log, moment), let last = lastInOldest(of: log) else { return false }
        return pass(log, through: min(log.last, max(end(of: 0, in: log), last)))
            && removeOldest(of: log, recycling: log.name == name)
    }

    /// The last event that goes with the oldest segment; nil where neither the header behind it nor the segment itself
    /// can be read now.
    ///
    /// It may be more than the next one's name says: that one was perhaps to hold the same again, and was cut off.
    private func lastInOldest(of log: LogState) -> UInt64? {
        guard let behind = next(behind: 0, of: log), let next = try? header(of: log, behind) else {
            return (try? scan(log.segments[0], of: log))?.scan.last
        }
        return next.lastAcknowledged(from: log.segments[0].name.id)
    }

    /// True where the oldest segment of a log holds events that a destination, or the first to come, waits for.
    private func hasEvictable(_ log: LogState) -> Bool {
        guard let oldest = oldestSegment(of: log), let tip = log.tip else { return false }
        guard oldest.name.id < tip.segment else { return !log.mustCommitAgain && oldest.name.first <= log.last }
        return true
    }

    /// Has the oldest segment of a log be one that is not written any more.
    private func endSegment(of log: LogState, _ moment: Moment) -> Bool {
        guard let tip = log.tip, log.segments[0].name.id >= tip.segment else { return true }
        return beginEmptySegment(of: log, moment)
    }

    /// Counts what destinations have not settled up to an event as evicted, and makes that durable; false where that
    /// fails, and nothing has changed unless the disk may have it.
    private func pass(_ log: LogState, through last: UInt64) -> Bool {
        let before = cursors
        let behind = before.filter { $0.key.log == log.name && $0.value.state.low <= last }
        // They come to the disk in a new file or not at all: slots that were written could not be taken back.
        if !behind.isEmpty { cursorFile.renew() }
        var passed: [CursorMove] = []
        for (key, cursor) in behind.sorted(by: { $0.key.destination < $1.key.destination }) {
            let low = cursor.state.low
            settle(destination: key.destination, log: log.name, dispositions(givingUp: low...last, of: log))
            let evicted = (cursors[key]?.state.ledger.evicted ?? 0) - cursor.state.ledger.evicted
            passed.append(
                CursorMove(
                    destination: key.destination, log: log.name, low: last + 1, kind: .evicted, count: evicted))
        }
        do throws(QueueError) {
            try synchroniseCursors()
        } catch {
            guard !cursorFile.mayBeDurable else {
                moves += passed
                return false
            }
            for (key, cursor) in behind { _ = cursorFile.write(slot(key, cursor.state), at: cursor.slot) }
            cursors = before
            return false
        }
        moves += passed
        return true
    }

    /// What becomes of events that are given up.
    private func dispositions(givingUp sequences: ClosedRange<UInt64>, of log: LogState) -> [Disposition] {
        var all: [Disposition] = []
        var next = sequences.lowerBound
        let end = sequences.upperBound
        for run in holes(among: sequences, of: log).ranges {
            if next < run.lowerBound { all.extend(.evicted, next...run.lowerBound - 1) }
            all.extend(.purged, run.lowerBound...run.upperBound - 1)
            next = run.upperBound
        }
        if next <= end { all.extend(.evicted, next...end) }
        return all
    }

    /// Which events were purged; a segment is read only where it may have holes.
    ///
    /// What was committed again stands in more than one of them, and not every copy is whole.
    private func holes(among sequences: ClosedRange<UInt64>, of log: LogState) -> RangeSet<UInt64> {
        var holes = RangeSet<UInt64>()
        for index in log.segments.indices where log.segments[index].name.first <= sequences.upperBound {
            guard (try? header(of: log, index)).map({ $0.holes > 0 }) ?? true else { continue }
            var next = max(sequences.lowerBound, log.segments[index].name.first)
            while next <= sequences.upperBound {
                let builder = content(of: log, index, from: next, through: sequences.upperBound)
                for run in builder.disposed where run.kind == .purged {
                    holes.insert(contentsOf: run.sequences.lowerBound..<run.sequences.upperBound + 1)
                }
                let ends = [builder.records.last?.sequence, builder.disposed.last?.sequences.upperBound]
                guard let end = ends.compactMap({ $0 }).max(), end >= next else { break }
                next = end + 1
            }
        }
        return holes
    }

    /// Events of a segment, as far as one read goes; a failing disk is asked until it counts as damaged.
    func content(of log: LogState, _ index: Int, from first: UInt64, through last: UInt64) -> ChunkBuilder {
        var builder = ChunkBuilder(limit: window.step, expiry: .never)
        for _ in 0...Self.triesBeforeDamage {
            builder = ChunkBuilder(limit: window.step, expiry: .never)
            do throws(QueueError) {
                try fill(&builder, log, index, from: first, through: last, limit: builder.limit)
                break
            } catch {}
        }
        return builder
    }
}

internal import Bytes
internal import Posix

/// How far the queue may grow (rules 13 and 15).
extension Queue {
    /// What there is room for at one moment, bytes.
    struct Space {
        /// What the queue takes on disk.
        let used: Int
        /// What the file system has, `KeepFree` included, and what that is.
        let available: UInt64
        let keep: UInt64
        /// Files that the file system has room for.
        let files: UInt64
        /// What the queue may come to: `MaxSize`, or what the file system has room for, where that is less.
        let bound: Int

        /// What the file system has beyond `KeepFree`; negative where it has less.
        var free: Int { Int(clamping: available) - Int(clamping: keep) }
    }

    func space() throws(QueueError) -> Space {
        let space = try attempt(.status, "") { () throws(Errno) in try storage.space() }
        let used = Int(clamping: bytesOnDisk)
        let keep = options.keep(of: space.total)
        let free = space.available - min(space.available, keep)
        return Space(
            used: used, available: space.available, keep: keep, files: space.files,
            bound: min(Int(clamping: options.maximumBytes), used + Int(clamping: free)))
    }

    /// How long a file of `size` bytes may become: `wanted` bytes, or less, but not less than `least`.
    ///
    /// - Throws: `full` or `noRoom` where even that is too much.
    func growth(
        of log: LogState, from size: Int, atLeast least: Int, wanted: Int
    ) throws(QueueError) -> Int {
        let space = try space()
        let room = roomToGrow(log.name, in: space)
        if room >= least - size { return min(wanted, (size + room) / 4_096 * 4_096) }
        throw shortage(of: log.name, for: least - size, in: space)
    }

    /// Why a log may not make the queue grow by so many bytes.
    func shortage(of log: LogName, for bytes: Int, in space: Space) -> QueueError {
        if roomBelowLimit(of: log, in: space) < bytes {
            return .full(log, bytes: UInt64(space.used), limit: limit(of: log))
        }
        return .noRoom(available: space.available, keep: space.keep)
    }

    /// Bytes by which a log may make the queue grow; negative where it is beyond its limit.
    func roomToGrow(_ log: LogName, in space: Space) -> Int {
        min(space.free - reserve(behind: log, in: space), roomBelowLimit(of: log, in: space))
    }

    /// What a log leaves of the file system to the more urgent lanes: their share of what the queue may come to, but no
    /// less than what they need to write at all.
    private func reserve(behind log: LogName, in space: Space) -> Int {
        guard let next = log.moreUrgent.last else { return 0 }
        return max(
            reserve(behind: next, in: space) + leastGrowth(of: next), space.bound / 100 * Int(100 - log.share))
    }

    /// What a lane takes to write one more block, bytes.
    private func leastGrowth(of lane: LogName) -> Int {
        let log = logs[lane]
        guard log.map({ !hasRoom($0, for: blockSize) }) ?? true else { return 0 }
        return roundedUp(2 * blockSize, to: 4_096) + (log?.directoryExists ?? false ? 0 : 4_096)
    }

    /// True where a log's newest segment has room for so many bytes of batches.
    func hasRoom(_ log: LogState, for batch: Int) -> Bool {
        guard let writer = log.writer, !log.mustCommitAgain else { return false }
        return writer.offset + batch <= writer.size
    }

    /// Has a log make no file that a more urgent lane would then lack.
    ///
    /// - Throws: `noFiles`
    func leaveFiles(_ log: LogState) throws(QueueError) {
        let own = filesToOpen(log.name)
        guard own > 0 else { return }
        let lacking = log.name.moreUrgent.filter { logs[$0].map { !hasRoom($0, for: blockSize) } ?? true }
        guard try space().files >= lacking.reduce(own, { $0 + filesToOpen($1) }) else { throw .noFiles }
    }

    /// How many files a log's next segment needs, its folder being one.
    func filesToOpen(_ log: LogName) -> UInt64 {
        let state = logs[log]
        return (state?.spare == nil ? 1 : 0) + (state?.directoryExists ?? false ? 0 : 1)
    }

    /// Bytes by which a log may make the queue grow as far as `MaxSize` goes; negative where it is beyond its limit.
    ///
    /// Dead letters do not count against the share of a log, so that they keep nothing out below nine tenths of
    /// `MaxSize`; above that they and events have the same room, and who comes first takes it (rules 13 and 15), but
    /// for what the next letter needs: a full queue that cannot set a refused event apart would stay full.
    private func roomBelowLimit(of log: LogName, in space: Space) -> Int {
        let reserved = max(0, min(options.letterReserve, Int(clamping: options.maximumBytes / 10) - deadLetters.bytes))
        return min(
            Int(clamping: limit(of: log)) - space.used + deadLetters.bytes, maximum - space.used - reserved)
    }

    /// How far a log may make the queue grow, in bytes.
    private func limit(of log: LogName) -> UInt64 { min(options.limit(of: log), UInt64(maximum)) }

    /// Bytes by which all files may grow; negative where they are beyond `MaxSize`.
    var roomInAll: Int { maximum - Int(clamping: bytesOnDisk) }

    /// What all files may come to: there is always room for a segment without events.
    private var maximum: Int { max(0, Int(clamping: options.maximumBytes) - emptySegmentBytes) }

    /// What a segment without events takes, bytes.
    var emptySegmentBytes: Int { roundedUp(blockSize, to: 4_096) }
}

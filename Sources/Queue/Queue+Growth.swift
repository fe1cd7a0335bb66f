internal import Bytes
internal import Posix

/// How far the queue may grow (rules 13 and 15).
extension Queue {
    /// What there is room for at one moment, bytes.
    struct Space {
        /// What the queue takes on disk.
        let used: Int
        /// What the file system has, and what of it `KeepFree` keeps.
        let available: UInt64
        let keep: UInt64
        /// What the queue may come to: `MaxSize`, or what the file system has room for, where that is less.
        let bound: UInt64

        /// What the file system has beyond `KeepFree`; negative where it has less.
        var free: Int { Int(clamping: available) - Int(clamping: keep) }

        /// What a log leaves of it to the more urgent ones: the share that these have of `bound`.
        func reserve(behind log: LogName) -> Int { Int(clamping: bound - log.share(of: bound)) }
    }

    func space() throws(QueueError) -> Space {
        let space = try attempt(.status, "") { () throws(Errno) in try storage.space() }
        let keep = options.keep(of: space.total)
        let free = space.available - min(space.available, keep)
        return Space(
            used: Int(clamping: bytesOnDisk), available: space.available, keep: keep,
            bound: min(options.maximumBytes, bytesOnDisk + free))
    }

    /// How long a file of `size` bytes may become: `wanted` bytes, or less, but not less than `least`.
    ///
    /// - Throws: `full` or `noRoom` where even that is too much.
    func growth(of log: LogState, from size: Int, atLeast least: Int, wanted: Int) throws(QueueError) -> Int {
        let space = try space()
        let room = roomToGrow(log.name, in: space)
        if room >= least - size { return min(wanted, (size + room) / 4_096 * 4_096) }
        throw shortage(of: log.name, for: least - size, in: space)
    }

    /// Why a log may not make the queue grow by so many bytes.
    func shortage(of log: LogName, for bytes: Int, in space: Space) -> QueueError {
        let room = roomBelowLimit(of: log, in: space)
        if room < bytes { return .full(log, bytes: UInt64(space.used), limit: UInt64(max(0, space.used + room))) }
        let reserved = min(max(0, space.free), space.reserve(behind: log))
        return .noRoom(log, available: space.available, keep: space.keep, reserved: UInt64(reserved))
    }

    /// Bytes by which a log may make the queue grow; negative where it is beyond its limit.
    func roomToGrow(_ log: LogName, in space: Space) -> Int {
        min(space.free - space.reserve(behind: log), roomBelowLimit(of: log, in: space))
    }

    /// Bytes by which a log may make the queue grow as far as `MaxSize` goes; negative where it is beyond its limit.
    ///
    /// Dead letters do not count against the share of a log, so that they keep nothing out below nine tenths of
    /// `MaxSize`; above that they and events have the same room, and who comes first takes it (rules 13 and 15), but
    /// for what the next letter needs: a full queue that cannot set a refused event apart would stay full.
    private func roomBelowLimit(of log: LogName, in space: Space) -> Int {
        let reserved = max(0, min(options.letterReserve, Int(clamping: options.maximumBytes / 10) - deadLetters.bytes))
        let share = min(log.share(of: options.maximumBytes), maximum)
        return min(
            Int(clamping: share) - space.used + deadLetters.bytes,
            Int(clamping: maximum) - space.used - reserved - options.urgentReserve(behind: log))
    }

    /// Bytes by which all files may grow; negative where they are beyond `MaxSize`.
    var roomInAll: Int { Int(clamping: maximum) - Int(clamping: bytesOnDisk) }

    /// What all files may come to: there is always room for a segment without events.
    private var maximum: UInt64 { options.maximumBytes - min(UInt64(emptySegmentBytes), options.maximumBytes) }

    /// What a segment without events takes, bytes.
    var emptySegmentBytes: Int { roundedUp(blockSize, to: 4_096) }
}

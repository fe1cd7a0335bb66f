internal import Bytes
internal import Posix
internal import Time

extension Queue {
    /// How many segments there must be room for where one takes all of its room at once.
    private static let plentySegments = 4

    /// Opens the log's next segment with room for `needed` bytes of batches, from the spare where there is one.
    ///
    /// The file has its zeros and its header on disk before its name is a segment's. Without `needed` it is as short as
    /// can be and may take the room that is reserved for such ones.
    func openSegment(
        of log: LogState, for needed: Int, first: UInt64, _ moment: Moment
    ) throws(QueueError) -> SegmentWriter {
        try makeFolder(of: log)
        if needed > 0 { try allocateSpare(of: log) }
        let spare = try filledSpare(of: log, needed)
        let path = log.folder + "/" + SpareSegment.name
        let holes = log.mustCommitAgain ? log.kept.reduce(0) { $0 + UInt32($1.holes) } : 0
        let header = SegmentHeader(
            block: blockSize, length: spare.size, isRecycled: spare.isRecycled, identity: identity,
            segment: nextSegment, epoch: log.epoch, first: first, wall: moment.wall, age: moment.age,
            previous: log.tip, holes: holes, log: log.name)
        nextSegment += 1
        let name = SegmentName(id: header.segment, first: first)
        try prepare(log, spare, path) { () throws(Errno) in
            try spare.file.write(header.encoded, in: 0..<header.block, at: 0)
            try spare.file.synchroniseData()
            try storage.rename(path, to: log.path(of: name))
        }
        log.spare = nil
        log.segments.append(
            LogState.Segment(name: name, size: spare.size, allocated: spare.size, filled: spare.filled))
        do throws(QueueError) {
            try synchroniseNames(of: log)
        } catch {
            forget(name, of: log)
            throw error
        }
        let writer = SegmentWriter(spare.file, header: header, filled: spare.filled)
        log.writer = writer
        return writer
    }

    /// A log's spare with room for a header and `needed` bytes of batches at least, and where there is none ready, for
    /// as much as a first segment has.
    private func filledSpare(of log: LogState, _ needed: Int) throws(QueueError) -> SpareSegment {
        let least = roundedUp(blockSize + needed, to: 4_096)
        let usual = max(least, min(options.firstSegmentBytes, options.segmentBytes))
        let size = try spare(of: log).size
        var target = least
        if needed > 0 {
            target =
                size >= least
                ? min(usual, size) : try growth(of: log, from: size, atLeast: least, wanted: usual)
        }
        while true {
            let spare = try spare(of: log)
            do throws(QueueError) {
                while spare.filled < target {
                    try prepare(log, spare, log.folder + "/" + SpareSegment.name) { () throws(Errno) in
                        try spare.fill(to: target)
                    }
                }
                return spare
            } catch {
                guard error.isLackOfRoom, target > least else { throw error }
                // There may be less than the file system says: XFS keeps some for itself.
                target = max(least, roundedUp(target / 2, to: 4_096))
            }
        }
    }

    /// Has the segment that a log is writing filled up to `end`.
    func fill(_ writer: SegmentWriter, to end: Int, of log: LogState) throws(QueueError) {
        guard end > writer.filled,
            let index = log.segments.lastIndex(where: { $0.name.id == writer.id })
        else { return }
        try attempt(.write, log.path(of: log.segments[index].name), at: writer.filled) { () throws(Errno) in
            try writer.fill(to: end, step: options.firstSegmentBytes)
        }
        log.segments[index].filled = writer.filled
    }

    /// Takes the room of a whole segment at once where commits came faster than its zeros, and there is plenty.
    ///
    /// It is filled as far as commits need it. A new file for each mebibyte costs more, and a backlog would have so
    /// many that they hold up the next start.
    private func allocateSpare(of log: LogState) throws(QueueError) {
        let size = options.segmentBytes
        guard log.writer != nil, log.spare?.size ?? 0 < size else { return }
        guard roomToGrow(log.name, in: try space()) >= Self.plentySegments * size else { return }
        let spare = try spare(of: log)
        do throws(Errno) {
            try spare.allocate(to: size)
        } catch {
            // What else fails may have taken a part.
            if error != .notSupported { dropSpare(of: log) }
        }
    }

    /// Works on the spare; one that fails is done away with.
    private func prepare(
        _ log: LogState, _ spare: SpareSegment, _ path: String, _ body: () throws(Errno) -> Void
    ) throws(QueueError) {
        do throws(QueueError) {
            try attempt(.write, path, at: spare.filled, body)
        } catch {
            dropSpare(of: log)
            throw error
        }
    }

    /// Takes away the newest segment, from which nothing was acknowledged.
    func forget(_ name: SegmentName, of log: LogState) {
        do throws(Errno) {
            try storage.unlink(log.path(of: name))
            log.segments.removeAll { $0.name == name }
        } catch {}
    }

    func dropSpare(of log: LogState) {
        log.spare = nil
        do throws(Errno) { try storage.unlink(log.folder + "/" + SpareSegment.name) } catch {}
    }

    /// Makes the names of a log's segments durable.
    func synchroniseNames(of log: LogState) throws(QueueError) {
        try attempt(.synchronise, log.folder) { () throws(Errno) in try storage.synchroniseDirectory(log.folder) }
    }

    /// Makes the names of the logs durable, and that of the folder they are in.
    func synchroniseLogNames() throws(QueueError) {
        try attempt(.synchronise, LogState.folder) { () throws(Errno) in
            try storage.synchroniseDirectory("")
            try storage.synchroniseDirectory(LogState.folder)
        }
    }

    private func makeFolder(of log: LogState) throws(QueueError) {
        guard !log.directoryExists else { return }
        try prepareConsent(for: log.name)
        for folder in [LogState.folder, log.folder] {
            try attempt(.create, folder) { () throws(Errno) in
                try storage.createDirectoryIfMissing(folder)
            }
        }
        try synchroniseLogNames()
        log.directoryExists = true
    }

    /// The log's spare, empty where there was none.
    func spare(of log: LogState) throws(QueueError) -> SpareSegment {
        if let spare = log.spare { return spare }
        let path = log.folder + "/" + SpareSegment.name
        let file = try attempt(.create, path) { () throws(Errno) in
            do throws(Errno) { try storage.unlink(path) } catch  where error == .noEntry {}
            return try storage.open(path, .createNew)
        }
        let spare = SpareSegment(file, filled: 0, size: 0, isRecycled: false)
        log.spare = spare
        return spare
    }
}

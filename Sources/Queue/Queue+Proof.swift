internal import Posix

/// A name makes no segment: what stands in a file must bear it out before the file hides what others hold, or goes.
extension Queue {
    /// The newest segment of a log that may hold an event; nil where there is none.
    func index(holding sequence: UInt64, in log: LogState) -> Int? {
        while let index = log.index(holding: sequence) {
            if isProven(index, of: log) { return index }
        }
        return nil
    }

    /// The last event that is looked for in a segment, as the later ones say.
    func end(of index: Int, in log: LogState) -> UInt64 {
        while let limit = log.limit(of: index), !isProven(limit, of: log) {}
        return log.end(of: index)
    }

    /// The segment behind another, by id; nil where there is none.
    func next(behind index: Int, of log: LogState) -> Int? {
        while index + 1 < log.segments.count, !isProven(index + 1, of: log) {}
        return index + 1 < log.segments.count ? index + 1 : nil
    }

    /// A log's oldest segment, by id; nil where there is none.
    func oldestSegment(of log: LogState) -> LogState.Segment? {
        while !log.segments.isEmpty, !isProven(0, of: log) {}
        return log.segments.first
    }

    /// The oldest event that a segment of a log may hold and that is not known to be settled everywhere.
    func oldest(of log: LogState) -> UInt64 {
        while let first = log.segments.indices.min(by: { log.segments[$0].name.first < log.segments[$1].name.first }),
            !isProven(first, of: log)
        {}
        return log.oldest
    }

    /// True where a file with a segment's name is one of the log; it is left alone and out of the log where not.
    ///
    /// Nothing is known of a file that the disk does not give: its name counts.
    func isProven(_ index: Int, of log: LogState) -> Bool {
        let segment = log.segments[index]
        guard !segment.isProven else { return true }
        guard let isOwn = try? isBorneOut(segment.name, of: log) else { return true }
        if isOwn {
            log.segments[index].isProven = true
        } else {
            log.segments.remove(at: index)
            newStrays.append(log.path(of: segment.name))
        }
        return isOwn
    }

    func isBorneOut(_ name: SegmentName, of log: LogState) throws(QueueError) -> Bool {
        let path = log.path(of: name)
        return try storage.attempt(.read, path) { () throws(Errno) in
            let file = try storage.open(path, .readOnly)
            window.attach(file, end: try file.size(), isTolerant: false)
            defer { window.detach() }
            let isOwn = try name.isBorneOut(in: window, of: log.name, identity: identity)
            // What has gone meanwhile may have been overwritten.
            if !isOwn { _ = try storage.status(of: path) }
            return isOwn
        }
    }

    /// Paths of files with only the name of a segment that were found since the last call.
    package func takeStrays() -> [String] {
        defer { newStrays.removeAll() }
        return newStrays
    }

    /// Leaves out files with the id of another, of any log, that do not prove to be segments: by ids files are told
    /// apart.
    func leaveDoubles() {
        var seen: Set<UInt64> = []
        let ids = logs.values.flatMap { $0.segments.map(\.name.id) }
        let doubles = Set(ids.filter { !seen.insert($0).inserted })
        guard !doubles.isEmpty else { return }
        for log in logsInOrder {
            for index in log.segments.indices.reversed() where doubles.contains(log.segments[index].name.id) {
                _ = isProven(index, of: log)
            }
        }
    }
}

extension SegmentName {
    /// True where a file's header, or where that is damaged one of the batches in it, says what its name does.
    ///
    /// A batch carries the segment's id, its own place, and the seal of the queue.
    func isBorneOut(by header: SegmentHeader?, hasBatch: Bool, of log: LogName, identity: QueueIdentity) -> Bool {
        header.map { $0.isOf(self, log: log, identity: identity) } ?? hasBatch
    }

    fileprivate func isBorneOut(
        in window: SegmentWindow, of log: LogName, identity: QueueIdentity
    ) throws(Errno) -> Bool {
        let header = try SegmentScan.header(window, segment: id)
        var walk = BatchWalk(
            window, segment: id, seal: identity.seal, from: Block.least, to: .max,
            expecting: BatchPlace(number: 0, sequence: first))
        let batch = header == nil ? try walk.next() : nil
        return isBorneOut(by: header, hasBatch: batch != nil, of: log, identity: identity)
    }
}

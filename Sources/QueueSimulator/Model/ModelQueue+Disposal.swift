internal import Queue

extension ModelQueue {
    /// Puts holes in place of events, whatever became of them elsewhere; returning is the receipt.
    func purge(_ sequences: Set<Int>, in log: Int) throws(DiskError) {
        if variant != .purgeForgetsBatchInMemory {
            logs[log].lastBatch = logs[log].lastBatch.map {
                sequences.contains($0.sequence) ? .hole(sequence: $0.sequence) : $0
            }
        }
        for index in logs[log].segments.indices {
            let segment = logs[log].segments[index]
            var cells = disk.cells(segment.file)
            let holes = cells.punch(sequences, segment: segment.id)
            guard holes > 0 else { continue }
            // The segment being written is left; the next commit opens another.
            if logs[log].active?.file == segment.file { logs[log].active = nil }
            let file = try disk.create()
            try disk.append(cells, to: file)
            try disk.synchronise(file)
            let temporary = FileName.temporary(makeName())
            try disk.link(temporary, to: file)
            if variant == .receiptOfPurgeBeforeRename {
                logs[log].segments[index].file = file
                continue
            }
            let name = FileName.segment(log: log, id: segment.id, first: segment.first)
            try disk.rename(temporary, to: name)
            try disk.synchroniseNames()
            logs[log].segments[index].file = file
        }
    }

    /// Puts holes in place of all events of a log, and passes them everywhere.
    func purge(_ log: Int) throws(DiskError) {
        let next = logs[log].next
        try purge(Set(oldest(log)..<next), in: log)
        for destination in known.sorted() {
            let low = cursors[destination, log].slot.low
            try move(destination, log, (low..<max(low, next)).map { ($0, .purged) })
        }
        try synchroniseCursors()
    }

    /// Gives up the oldest segment of a log to make room, never the newest; where the cursors cannot be made durable,
    /// the segment stays and nothing behind it is sent, or it would come out of order after a power cut.
    func evict(_ log: Int) throws(DiskError) {
        guard logs[log].segments.count > 1 else { return }
        let last = logs[log].segments[1].first - 1
        for destination in known.sorted() {
            let low = cursors[destination, log].slot.low
            guard low <= last else { continue }
            let fates = (low...last).map { sequence in
                (sequence, fateOfEvicted(sequence, log: log, destination: destination))
            }
            try move(destination, log, fates)
            cursors[destination, log].durableDue = last + 1
        }
        try synchroniseCursors()
        try unlinkOldest(log)
    }

    /// Removes the oldest segment; its name is gone for good before the next one goes, so that what is kept is a run.
    private func unlinkOldest(_ log: Int) throws(DiskError) {
        let oldest = logs[log].segments.removeFirst()
        try disk.unlink(.segment(log: log, id: oldest.id, first: oldest.first))
        try disk.synchroniseNames()
    }

    private func fateOfEvicted(_ sequence: Int, log: Int, destination: Int) -> Fate {
        let (event, epoch) = event(log, sequence)
        let letter = Letter(destination: destination, log: log, epoch: epoch, sequence: sequence)
        switch event {
        case .hole: return .purged
        case .damaged: return letters.contains(letter) ? .dead : .quarantined
        case .record: return letters.contains(letter) ? .dead : .evicted
        }
    }

    /// Removes the segments that every destination is past, but for the newest of a log, which tells what was accepted.
    func retire() throws(DiskError) {
        for log in 0..<QueueShape.logs {
            while logs[log].segments.count > 1 {
                let last = logs[log].segments[1].first - 1
                let all = known.map { cursors[$0, log] }
                guard all.allSatisfy({ $0.slot.low > last }) else { break }
                let isBroken = variant == .unlinkBeforeCursorsAreSynced
                if !isBroken, all.contains(where: { $0.durableLow <= last }) { try synchroniseCursors() }
                try unlinkOldest(log)
                if isBroken { try synchroniseCursors() }
            }
        }
    }
}

extension [Cell] {
    /// Replaces records by holes and returns how many.
    mutating func punch(_ sequences: Set<Int>, segment: Int) -> Int {
        var holes = 0
        for index in indices {
            guard case .record(let record) = self[index], sequences.contains(record.sequence) else { continue }
            self[index] = .hole(sequence: record.sequence, segment: segment)
            holes += 1
        }
        if holes > 0, case .segment(var header) = self[0] {
            header.holes += holes
            self[0] = .segment(header)
        }
        return holes
    }
}

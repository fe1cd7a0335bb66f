extension ModelQueue {
    /// Makes posts durable, one sync a log, and returns the first sequence number in each log; throws `failed` where
    /// the clients must be told to come back later.
    func commit(_ batches: [(log: Int, posts: [(token: Int, deadline: Int?)])]) throws(DiskError) -> [Int: Int] {
        var firsts: [Int: Int] = [:]
        var failure: DiskError?
        for (log, posts) in batches {
            let first = logs[log].next
            let events = posts.enumerated().map {
                Event.posted(sequence: first + $0.offset, token: $0.element.token, deadline: $0.element.deadline)
            }
            do {
                try append(events, to: log)
                firsts[log] = first
            } catch .failed {
                failure = .failed
            }
        }
        if cursors.isDirty { try ignoringFailure { () throws(DiskError) in try synchroniseCursors() } }
        if let failure { throw failure }
        return firsts
    }

    private func append(_ events: [Event], to log: Int) throws(DiskError) {
        if let active = logs[log].active, active.batches < Self.batchesPerSegment {
            do {
                try write(events, log: log, segment: active.id, file: active.file)
                if variant != .answerBeforeSync { try disk.synchronise(active.file) }
                logs[log].active?.batches += 1
                accept(events, in: log)
                return
            } catch .crash {
                throw .crash
            } catch .failed {
                if variant != .appendAfterFailedSync {
                    logs[log].active = nil
                    logs[log].isSuspect = true
                }
            }
            if variant == .appendAfterFailedSync {
                try write(events, log: log, segment: active.id, file: active.file)
                try disk.synchronise(active.file)
                logs[log].active?.batches += 1
                accept(events, in: log)
                return
            }
        }
        try openSegment(log, with: events)
    }

    /// A segment has its name only when its first batches are durable in it.
    private func openSegment(_ log: Int, with events: [Event]) throws(DiskError) {
        let again = logs[log].isSuspect && variant != .recommitWithoutLastBatch ? logs[log].lastBatch : []
        let first = (again.first ?? events.first)?.sequence ?? logs[log].next
        let id = nextSegment
        nextSegment += 1
        let name = FileName.segment(log: log, id: id, first: first)
        let file = try disk.create(log: log)
        let namedFirst = variant == .nameBeforeRecommitIsSynced
        let header = SegmentHeader(log: log, id: id, epoch: logs[log].epoch, first: first, holes: again.holes)
        try disk.append([.segment(header)], to: file)
        if namedFirst {
            try disk.synchronise(file)
            try disk.link(name, to: file)
            try disk.synchroniseNames()
        }
        if !again.isEmpty { try write(again, log: log, segment: id, file: file) }
        try write(events, log: log, segment: id, file: file)
        try disk.synchronise(file)
        if !namedFirst {
            try disk.link(name, to: file)
            if variant != .answerBeforeNameIsSynced { try disk.synchroniseNames() }
        }
        logs[log].active = Active(id: id, file: file, batches: again.isEmpty ? 1 : 2)
        logs[log].isSuspect = false
        logs[log].segments.append(Segment(id: id, first: first, last: first - 1, file: file))
        accept(events, in: log)
        logs[log].lastBatch = again + events
    }

    private func accept(_ events: [Event], in log: Int) {
        logs[log].lastBatch = events
        logs[log].next += events.count
        logs[log].segments[logs[log].segments.count - 1].last = logs[log].next - 1
    }

    private func write(_ events: [Event], log: Int, segment: Int, file: Int) throws(DiskError) {
        guard let first = events.first?.sequence else { return }
        let header = BatchHeader(segment: segment, epoch: logs[log].epoch, first: first, count: events.count)
        let cells = events.map { event -> Cell in
            switch event {
            case .posted(let sequence, let token, let deadline):
                .record(Record(segment: segment, sequence: sequence, token: token, deadline: deadline))
            case .hole(let sequence): .hole(sequence: sequence, segment: segment)
            }
        }
        try disk.append([.batch(header)] + cells + [.trailer(header)], to: file)
    }

    /// Does what may fail without harm to the caller; a crash still goes through.
    func ignoringFailure(_ body: () throws(DiskError) -> Void) throws(DiskError) {
        do { try body() } catch .crash { throw .crash } catch .failed {}
    }
}

extension [ModelQueue.Event] {
    var holes: Int {
        count { event in
            if case .hole = event { true } else { false }
        }
    }
}

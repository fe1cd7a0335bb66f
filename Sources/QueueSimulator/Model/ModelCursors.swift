internal import Queue

/// The cursors in memory and where their slots stand: two for each destination and log, written in turn.
struct ModelCursors {
    struct Cursor {
        var slot = Slot(generation: 0, low: 1, origin: 0, ledger: Ledger())
        /// The slot of the two that is durable; the other one is written.
        var durableSide = 1
        var lastSide = 1
        var durableLow = 1
        /// Nothing is sent before the durable cursor has come that far.
        var durableDue = 1
        var isDirty = false
    }

    var cursors = [Cursor](repeating: Cursor(), count: QueueShape.destinations * QueueShape.logs)
    var file: Int?
    var countersFile: Int?
    /// Whether a sync of the file failed: it is replaced before the next.
    var isSuspect = false

    var isDirty: Bool { isSuspect || cursors.contains { $0.isDirty } }

    subscript(destination: Int, log: Int) -> Cursor {
        get { cursors[destination * QueueShape.logs + log] }
        set { cursors[destination * QueueShape.logs + log] = newValue }
    }

    static func position(_ destination: Int, _ log: Int, side: Int) -> Int {
        (destination * QueueShape.logs + log) * 2 + side
    }
}

extension ModelQueue {
    /// Moves a cursor over the next events and writes its slot, not synced.
    func move(_ destination: Int, _ log: Int, _ fates: [(sequence: Int, fate: Fate)]) throws(DiskError) {
        guard let last = fates.last?.sequence else { return }
        for (_, fate) in fates { cursors[destination, log].slot.ledger.count(1, as: fate) }
        cursors[destination, log].slot.low = last + 1
        try writeSlot(destination, log)
        settled += fates.map {
            Settled(destination: destination, log: log, sequence: $0.sequence, fate: $0.fate)
        }
    }

    func writeSlot(_ destination: Int, _ log: Int) throws(DiskError) {
        var cursor = cursors[destination, log]
        cursor.slot.generation += 1
        cursor.isDirty = true
        cursor.lastSide = 1 - (variant == .overwriteDurableSlot ? cursor.lastSide : cursor.durableSide)
        cursors[destination, log] = cursor
        guard let file = cursors.file, !cursors.isSuspect else { return }
        var slot = cursor.slot
        if variant == .countersInAFileOfTheirOwn, let counters = cursors.countersFile {
            let position = ModelCursors.position(destination, log, side: 0)
            try ignoringFailure { () throws(DiskError) in
                try disk.write(.counters(slot.ledger), to: counters, at: position)
            }
            slot.ledger = Ledger()
        }
        let position = ModelCursors.position(destination, log, side: cursor.lastSide)
        do {
            try disk.write(.slot(slot), to: file, at: position)
        } catch .crash {
            throw .crash
        } catch .failed {
            cursors.isSuspect = true
        }
    }

    /// Makes all cursors durable; a file whose sync failed is replaced by a new one.
    func synchroniseCursors() throws(DiskError) {
        if let file = cursors.file, !cursors.isSuspect {
            do {
                try disk.synchronise(file)
                if let counters = cursors.countersFile { try disk.synchronise(counters) }
                noteCursorsDurable()
                return
            } catch .crash {
                throw .crash
            } catch .failed {
                cursors.isSuspect = true
            }
        }
        try replaceModelCursors()
    }

    func replaceModelCursors() throws(DiskError) {
        let file = try disk.create()
        let temporary = FileName.temporary(makeName())
        for destination in known.sorted() {
            for log in 0..<QueueShape.logs {
                let slot = cursors[destination, log].slot
                for side in 0...1 {
                    try disk.write(.slot(slot), to: file, at: ModelCursors.position(destination, log, side: side))
                }
            }
        }
        try disk.synchronise(file)
        try disk.link(temporary, to: file)
        try disk.rename(temporary, to: .cursors)
        try disk.synchroniseNames()
        cursors.file = file
        cursors.isSuspect = false
        noteCursorsDurable()
    }

    private func noteCursorsDurable() {
        for index in cursors.cursors.indices {
            cursors.cursors[index].isDirty = false
            cursors.cursors[index].durableSide = cursors.cursors[index].lastSide
            cursors.cursors[index].durableLow = cursors.cursors[index].slot.low
        }
    }
}

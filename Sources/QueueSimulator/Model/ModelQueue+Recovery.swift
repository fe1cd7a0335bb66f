internal import Queue

extension ModelQueue {
    /// Finds everything again from names, slots and segments.
    func recover() throws(DiskError) {
        try findSegments()
        try findLetters()
        try findCursors()
        for (name, _) in disk.listing {
            if case .temporary = name { try disk.unlink(name) }
        }
        for log in 0..<QueueShape.logs {
            let known = logs[log].segments.map { max($0.last, $0.first - 1) + 1 }.max() ?? 1
            let passed = self.known.map { cursors[$0, log].slot.low }.max() ?? 1
            // What one destination had and the disk has no more was accepted all the same.
            logs[log].next = max(known, passed)
            if let newest = logs[log].segments.indices.last { logs[log].segments[newest].last = logs[log].next - 1 }
        }
    }

    private func findSegments() throws(DiskError) {
        for (name, file) in disk.listing {
            guard case .segment(let log, let id, let first) = name else { continue }
            nextSegment = max(nextSegment, id + 1)
            logs[log].segments.append(Segment(id: id, first: first, last: first - 1, file: file))
        }
        // What a killed daemon had written, but not synced, is durable before anybody relies on it.
        if variant != .recoverWithoutSync { try disk.synchroniseNames() }
        for log in 0..<QueueShape.logs {
            logs[log].segments.sort { $0.id < $1.id }
            guard let newest = logs[log].segments.last else { continue }
            if variant != .recoverWithoutSync { try disk.synchronise(newest.file) }
            for index in logs[log].segments.indices {
                let isNewest = index == logs[log].segments.count - 1
                let last =
                    isNewest
                    ? contents(of: logs[log].segments[index]).last : logs[log].segments[index + 1].first - 1
                logs[log].segments[index].last = last
            }
        }
    }

    private func findLetters() throws(DiskError) {
        for (name, file) in disk.listing {
            guard case .letters(let number) = name else { continue }
            nextName = max(nextName, number)
            try disk.synchronise(file)
            for case .letter(let letter) in disk.cells(file) { letters.insert(letter) }
        }
        if variant == .cursorWinsOverDeadLetter { letters = [] }
    }

    private func findCursors() throws(DiskError) {
        cursors.file = disk.names[.cursors]
        let cells = cursors.file.map { disk.cells($0) } ?? []
        for destination in 0..<QueueShape.destinations {
            for log in 0..<QueueShape.logs where (0...1).contains(where: { isUsed(cells, destination, log, side: $0) })
            {
                known.insert(destination)
            }
        }
        for destination in known.sorted() {
            for log in 0..<QueueShape.logs {
                let best = (0...1).compactMap { side in
                    slot(cells, destination, log, side: side).map { (side: side, slot: $0) }
                }.max { $0.slot.generation < $1.slot.generation }
                var cursor = ModelCursors.Cursor()
                if let best {
                    cursor.slot = best.slot
                    cursor.durableSide = best.side
                } else {
                    cursor.slot.low = variant == .restartAtNewest ? newestKnown(log) + 1 : oldest(log)
                    cursor.slot.origin = cursor.slot.low - 1
                }
                cursor.lastSide = cursor.durableSide
                cursor.durableLow = cursor.slot.low
                cursors[destination, log] = cursor
            }
        }
        try findCounters()
        try passMissingSegments()
        // A sync may have failed before the end: what can be read may not be durable, and no later sync will tell.
        if variant != .recoverWithoutSync { try replaceModelCursors() }
    }

    private func newestKnown(_ log: Int) -> Int { logs[log].segments.last?.last ?? 0 }

    private func slot(_ cells: [Cell], _ destination: Int, _ log: Int, side: Int) -> Slot? {
        let position = ModelCursors.position(destination, log, side: side)
        guard position < cells.count, case .slot(let slot) = cells[position] else { return nil }
        return slot
    }

    private func isUsed(_ cells: [Cell], _ destination: Int, _ log: Int, side: Int) -> Bool {
        let position = ModelCursors.position(destination, log, side: side)
        return position < cells.count && cells[position] != .zero
    }

    /// Events before the oldest segment whose cursor was lost: nobody can say any more what became of them.
    private func passMissingSegments() throws(DiskError) {
        for destination in known.sorted() {
            for log in 0..<QueueShape.logs {
                let low = cursors[destination, log].slot.low
                let oldest = logs[log].segments.first?.first ?? low
                guard low < oldest else { continue }
                try move(destination, log, (low..<oldest).map { ($0, .quarantined) })
            }
        }
    }

    private func findCounters() throws(DiskError) {
        guard variant == .countersInAFileOfTheirOwn else { return }
        if let file = disk.names[.counters] {
            cursors.countersFile = file
            for destination in 0..<QueueShape.destinations {
                for log in 0..<QueueShape.logs {
                    let position = ModelCursors.position(destination, log, side: 0)
                    guard position < disk.cells(file).count,
                        case .counters(let ledger) = disk.cells(file)[position]
                    else { continue }
                    cursors[destination, log].slot.ledger = ledger
                }
            }
        } else {
            let file = try disk.create()
            try disk.link(.counters, to: file)
            try disk.synchroniseNames()
            cursors.countersFile = file
        }
    }
}

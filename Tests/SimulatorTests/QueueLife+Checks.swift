import Bytes
import Queue
import Simulator
import Time

extension QueueLife {
    func require(_ condition: Bool, _ kind: Broken.Kind, _ text: @autoclosure () -> String) throws {
        if !condition { throw Broken(kind: kind, description: text()) }
    }

    func require(_ condition: Bool, _ text: @autoclosure () -> String) throws {
        try require(condition, .other, text())
    }

    func takeDamages() {
        for damage in queue.takeDamages() {
            if let range = damage.sequences { named[damage.log, default: []].append(range) }
        }
    }

    /// Checks a chunk against what clients were told, and returns what it counts as when it is delivered.
    func check(_ chunk: Chunk, low: UInt64) throws -> Ledger {
        var counts = Ledger()
        var next = low
        let quarantined = chunk.disposed.filter { $0.kind == .quarantined }.flatMap { Array($0.sequences) }
        let all = chunk.records.map { ($0.sequence, Optional($0)) } + quarantined.map { ($0, nil) }
        for (sequence, record) in all.sorted(by: { $0.0 < $1.0 }) {
            let name = "event \(sequence) of \(chunk.log.text)"
            try require(sequence == next, "\(name) comes where \(next) is due")
            next += 1
            let event = acknowledged[chunk.log]?[sequence]
            guard let record else {
                counts.quarantined += 1
                guard event != nil else { continue }
                try require(!flipped.isEmpty, .lost, "\(name) is lost")
                let isNamed = named[chunk.log, default: []].contains { $0.contains(sequence) }
                try require(isNamed || mayMissNames, "\(name) is quarantined and not named")
                lost[chunk.log, default: []].insert(sequence)
                let count = lost.values.reduce(0) { $0 + $1.count }
                try require(count <= flipped.count, .lost, "\(count) events lost by \(flipped.count) flipped bytes")
                continue
            }
            counts.delivered += 1
            guard let event else { continue }
            try require(Array(chunk.bytes[record.range]) == event.bytes, "\(name) has other bytes")
            try require(chunk.epoch == event.epoch, "\(name) has another id")
        }
        try require(next == chunk.sequences.upperBound + 1, "a chunk says \(chunk.sequences), ends at \(next)")
        return counts
    }

    /// Compares what a start found with what is known.
    func check(after end: SimulatedDisk.End) throws {
        for damage in queue.recovery.damages {
            if let range = damage.sequences { named[damage.log, default: []].append(range) }
        }
        for (log, events) in acknowledged {
            let newest = events.keys.max() ?? 0
            let accepted = queue.snapshot.logs.first { $0.name == log }?.accepted ?? 0
            try require(newest <= accepted, .lost, "\(log.text): \(accepted) accepted, \(newest) acknowledged")
        }
        try checkSums()
        for pair in histories.keys.sorted(by: { ($0.destination, $0.log.text) < ($1.destination, $1.log.text) }) {
            try checkCursor(pair, after: end)
        }
        repeatPosts()
        try readAll()
    }

    /// Clients without an answer ask again: what the log holds already is acknowledged at once.
    private func repeatPosts() {
        for keyed in queue.recovery.keyed where acknowledged[keyed.log]?[keyed.id.sequence] == nil {
            guard let bytes = posted[keyed.key] else { continue }
            acknowledged[keyed.log, default: [:]][keyed.id.sequence] = Event(epoch: keyed.id.epoch, bytes: bytes)
            note("  repeated: \(keyed.log.text) \(keyed.id.sequence)")
        }
    }

    func checkSums() throws {
        let snapshot = queue.snapshot
        for cursor in snapshot.cursors {
            let accepted = snapshot.logs.first { $0.name == cursor.log }?.accepted ?? 0
            let name = "\(cursor.destination), \(cursor.log.text)"
            try require(
                cursor.origin + cursor.ledger.total + cursor.queued == accepted,
                "\(name): accepted \(accepted) is not the sum of \(cursor)")
            try require(cursor.low - 1 - cursor.origin == cursor.ledger.total, "\(name): \(cursor) does not add up")
        }
    }

    private func checkCursor(_ pair: Pair, after end: SimulatedDisk.End) throws {
        guard var history = histories[pair] else { return }
        let name = "\(pair.destination), \(pair.log.text)"
        let found = queue.cursor(destination: pair.destination, log: pair.log)
        let low = found?.low ?? 1
        let ledger = found?.ledger ?? Ledger()
        note("  \(name): low \(low)")
        try require(history.ledgers[low] == ledger, "\(name): ledger \(ledger) at \(low) was never true")
        try require(low >= history.durableLow, "\(name): low \(low), \(history.durableLow) was synced")
        if end == .kill, !faults.errors { try require(low >= history.low, "\(name): low \(low) after \(history.low)") }
        history.ledgers = history.ledgers.filter { $0.key <= low }
        history.low = low
        history.durableLow = min(history.durableLow, low)
        histories[pair] = history
    }

    /// Reads all that some destination still waits for.
    private func readAll() throws {
        for log in QueueLife.logs {
            let cursors = QueueLife.destinations.map { ($0, queue.cursor(destination: $0, log: log)?.low ?? 1) }
            guard let (destination, low) = cursors.min(by: { $0.1 < $1.1 }) else { continue }
            var next = low
            while let chunk = try queue.read(log, for: destination, from: next, limit: 4_096, age: 0) {
                takeDamages()
                _ = try check(chunk, low: next)
                next = chunk.sequences.upperBound + 1
            }
        }
    }

    /// Everything is delivered, and nothing stays on disk but the newest segments.
    func finish() throws {
        for destination in QueueLife.destinations {
            for log in QueueLife.logs {
                while try deliver(destination, log, limit: 4_096, answered: true) {}
            }
        }
        try checkSums()
        for cursor in queue.snapshot.cursors {
            try require(cursor.queued == 0, "\(cursor.destination), \(cursor.log.text): \(cursor.queued) stay")
        }
        for _ in 0..<1_000 {
            guard let next = queue.housekeep(at: now, age: 0) else { break }
            now = max(now, next)
        }
        try restart(after: .powerCut)
    }
}

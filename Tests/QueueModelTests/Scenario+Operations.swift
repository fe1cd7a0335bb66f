internal import Bytes

extension Scenario {
    mutating func act(_ operation: Operation) throws {
        switch operation {
        case .commit: try commit()
        case .send: try send()
        case .acknowledge: try acknowledge()
        case .loseAnswer:
            guard let request = takeInFlight() else { return }
            late.append(request)
        case .loseRequest: _ = takeInFlight()
        case .lateAnswer:
            guard !late.isEmpty else { return }
            let request = late.remove(at: Int.random(in: 0..<late.count, using: &random))
            truth.take(request)
            try queue.acknowledge(request)
        case .refuse:
            guard let request = takeInFlight() else { return }
            try queue.deadLetter(request)
        case .synchronise: try queue.synchroniseCursors()
        case .purge: try purge()
        case .evict: try evict()
        case .retire: try queue.retire()
        case .damageRecords: damageRecords()
        case .damageSlots: damageSlots()
        case .fail:
            if chance(70) {
                disk.failingSyncs = Int.random(in: 1...4, using: &random)
            } else {
                disk.failingWrites = 1
            }
        case .wait: now += 1
        case .repeatPost: try repeatPost()
        case .stop:
            try queue.synchroniseCursors()
            try restart(after: .kill)
        case .kill: try restart(after: .kill)
        case .powerCut: try restart(after: .powerCut)
        }
    }

    private mutating func commit() throws {
        var batches: [Int: [(token: Int, deadline: Int?)]] = [:]
        for log in 0..<ModelQueue.logs where chance(60) {
            batches[log] = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                nextToken += 1
                let deadline = chance(10) ? now + Int.random(in: 0...2, using: &random) : nil
                truth.deadlines[nextToken] = deadline
                return (nextToken, deadline)
            }
        }
        let tokens = batches.values.flatMap { $0.map(\.token) }
        unanswered += tokens
        let firsts = try queue.commit(batches)
        unanswered.removeAll { tokens.contains($0) }
        for (log, first) in firsts {
            note("  log \(log) from \(first): \((batches[log] ?? []).map(\.token))")
            for (index, post) in (batches[log] ?? []).enumerated() {
                answer(post.token, Truth.Place(log: log, sequence: first + index), epoch: queue.logs[log].epoch)
            }
        }
    }

    private mutating func answer(_ token: Int, _ place: Truth.Place, epoch: UInt64) {
        truth.acknowledged[place] = Truth.Posted(token: token, epoch: epoch)
    }

    /// A client asks again with the same key: what the log already holds is answered at once.
    private mutating func repeatPost() throws {
        // After an error, what the page cache shows says nothing about the disk.
        guard !disk.hasFailed, let token = unanswered.popLast() else { return }
        for log in 0..<ModelQueue.logs {
            guard let newest = queue.logs[log].segments.last, newest.first <= newest.last else { continue }
            for sequence in newest.first...newest.last {
                let (event, epoch) = queue.event(log, sequence)
                guard case .record(let record) = event, record.token == token else { continue }
                note("  log \(log) has it: \(sequence)")
                answer(token, Truth.Place(log: log, sequence: sequence), epoch: epoch)
            }
        }
    }

    private mutating func send() throws {
        let destination = Int.random(in: 0..<ModelQueue.destinations, using: &random)
        let log = Int.random(in: 0..<ModelQueue.logs, using: &random)
        guard !inFlight.contains(where: { $0.destination == destination && $0.log == log }),
            let request = try queue.formRequest(destination, log, now: now)
        else { return }
        note("  destination \(destination), log \(log): \(request.items.map(\.sequence))")
        try truth.send(request, by: queue)
        inFlight.append(request)
    }

    private mutating func takeInFlight() -> Request? {
        guard !inFlight.isEmpty else { return nil }
        return inFlight.remove(at: Int.random(in: 0..<inFlight.count, using: &random))
    }

    private mutating func acknowledge() throws {
        guard let request = takeInFlight() else { return }
        note("  destination \(request.destination), log \(request.log): \(request.items.map(\.sequence))")
        truth.take(request)
        try queue.acknowledge(request)
    }

    private mutating func purge() throws {
        let log = Int.random(in: 0..<ModelQueue.logs, using: &random)
        let next = queue.logs[log].next
        guard next > 1 else { return }
        let from = Int.random(in: max(1, next - (chance(50) ? 2 : 8))..<next, using: &random)
        let sequences = Set(from..<min(next, from + Int.random(in: 1...3, using: &random)))
        note("  log \(log): \(sequences.sorted())")
        let places = sequences.map { Truth.Place(log: log, sequence: $0) }
        truth.purgeAsked.formUnion(places)
        let cancelled = inFlight.filter { $0.log == log }
        inFlight.removeAll { $0.log == log }
        late += cancelled
        try queue.purge(sequences, in: log)
        truth.purged.formUnion(places)
    }

    private mutating func evict() throws {
        let log = Int.random(in: 0..<ModelQueue.logs, using: &random)
        guard queue.logs[log].segments.count > 1 else { return }
        let segments = queue.logs[log].segments
        let last = segments[1].first - 1
        note("  log \(log) through \(last)")
        for sequence in segments[0].first..<(last + 1) {
            truth.evicted.insert(Truth.Place(log: log, sequence: sequence))
        }
        try queue.evict(log, now: now)
    }

    private func isClean(_ file: Int) -> Bool {
        disk.files[file].map { $0.pending.isEmpty && $0.limbo.isEmpty && $0.reverted.isEmpty } ?? false
    }

    /// Spoils one cell or a few in a row; never the end of the newest segment, whose loss nothing could tell.
    private mutating func damageRecords() {
        let log = Int.random(in: 0..<ModelQueue.logs, using: &random)
        guard let segment = queue.logs[log].segments.randomElement(using: &random), isClean(segment.file) else {
            return
        }
        let cells = disk.cells(segment.file)
        let isNewest = segment.id == queue.logs[log].segments.last?.id
        let lastTrailer = cells.lastIndex { cell in
            if case .trailer = cell { true } else { false }
        }
        let end = isNewest ? lastTrailer ?? 0 : cells.count
        guard end > 0 else { return }
        let start = Int.random(in: 0..<end, using: &random)
        let length = chance(60) ? 1 : Int.random(in: 2...5, using: &random)
        for position in start..<min(end, start + length) {
            switch cells[position] {
            case .record(let record): truth.damaged.insert(Truth.Place(log: log, sequence: record.sequence))
            case .hole(let sequence, _): truth.damaged.insert(Truth.Place(log: log, sequence: sequence))
            default: break
            }
            disk.damage(segment.file, at: position, length: Int.random(in: 0..<12, using: &random))
        }
        if queue.contents(of: segment).epoch == nil {
            truth.damaged.formUnion((segment.first..<(segment.last + 1)).map { Truth.Place(log: log, sequence: $0) })
        }
        note("  segment \(segment.id) of log \(log), cells \(start)..<\(min(end, start + length))")
    }

    private mutating func damageSlots() {
        guard let file = queue.cursors.file, isClean(file), !queue.cursors.isSuspect else { return }
        let destination = Int.random(in: 0..<ModelQueue.destinations, using: &random)
        let log = Int.random(in: 0..<ModelQueue.logs, using: &random)
        let sides = [0...0, 1...1, 0...1][Int.random(in: 0..<3, using: &random)]
        note("  slots \(sides) of destination \(destination), log \(log)")
        for side in sides {
            let position = CursorFile.position(destination, log, side: side)
            guard position < disk.cells(file).count else { continue }
            disk.damage(file, at: position, length: 0)
        }
        truth.slotsDamaged = true
    }
}

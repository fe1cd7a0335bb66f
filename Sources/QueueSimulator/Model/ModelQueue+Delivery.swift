internal import Queue

extension ModelQueue {
    /// What comes next for a destination: nothing where nothing waits, or storage does not let it.
    func read(_ destination: Int, _ log: Int, events: Int, now: Int) throws(DiskError) -> [ReadItem] {
        let cursor = cursors[destination, log]
        let low = cursor.slot.low
        if low - cursor.durableLow >= Self.window || cursor.durableLow < cursor.durableDue {
            do { try synchroniseCursors() } catch .crash { throw .crash } catch .failed { return [] }
        }
        return items(destination, log, low..<max(low, min(logs[log].next, low + events)), now: now)
    }

    /// What a destination may be told of events; nothing has expired where there is no `now`.
    func items(_ destination: Int, _ log: Int, _ sequences: Range<Int>, now: Int?) -> [ReadItem] {
        sequences.map { sequence in
            let (event, epoch) = event(log, sequence)
            let letter = Letter(destination: destination, log: log, epoch: epoch, sequence: sequence)
            let content: ReadItem.Content
            switch event {
            case .hole: content = .disposed(.purged)
            case .damaged: content = .disposed(letters.contains(letter) ? .dead : .quarantined)
            case .record(let record):
                let isExpired = record.deadline.map { deadline in now.map { deadline <= $0 } ?? false } ?? false
                content =
                    letters.contains(letter)
                    ? .disposed(.dead)
                    : isExpired ? .disposed(.expired) : .event(token: record.token, epoch: epoch)
            }
            return ReadItem(sequence: sequence, content: content)
        }
    }

    /// Settles what is not settled yet.
    func settle(_ destination: Int, _ log: Int, _ fates: [(sequence: Int, fate: Fate)]) throws(DiskError) {
        if variant == .lateAcknowledgementWins { return try move(destination, log, fates) }
        let low = cursors[destination, log].slot.low
        guard let first = fates.first?.sequence, first <= low else { return }
        try move(destination, log, fates.filter { $0.sequence >= low })
    }

    /// The collector refused an event for good: the letter is durable before the cursor moves.
    func bury(_ destination: Int, _ log: Int, sequence: Int, epoch: UInt64) throws(DiskError) {
        let letter = Letter(destination: destination, log: log, epoch: epoch, sequence: sequence)
        if variant == .cursorBeforeDeadLetter {
            try move(destination, log, [(sequence, .dead)])
            try synchroniseCursors()
        }
        try store(letter)
    }

    private func store(_ letter: Letter) throws(DiskError) {
        if let file = lettersFile {
            let position = disk.cells(file).count
            do {
                try disk.write(.letter(letter), to: file, at: position)
                try disk.synchronise(file)
            } catch .crash {
                throw .crash
            } catch .failed {
                // It can be read, but may never be durable: the next start must not believe in it.
                try ignoringFailure { () throws(DiskError) in try disk.write(.zero, to: file, at: position) }
                lettersFile = nil
                throw .failed
            }
        } else {
            let file = try disk.create()
            try disk.append([.letter(letter)], to: file)
            try disk.synchronise(file)
            try disk.link(.letters(makeName()), to: file)
            try disk.synchroniseNames()
            lettersFile = file
        }
        letters.insert(letter)
    }

    /// Takes destinations; a new one starts at the oldest event kept.
    func use(_ destinations: [Int]) throws(DiskError) {
        for destination in destinations where known.insert(destination).inserted {
            for log in 0..<QueueShape.logs {
                var cursor = ModelCursors.Cursor()
                cursor.slot.low = oldest(log)
                cursor.slot.origin = cursor.slot.low - 1
                cursor.durableLow = cursor.slot.low
                cursors[destination, log] = cursor
                try writeSlot(destination, log)
            }
        }
    }
}

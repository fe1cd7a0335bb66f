/// A run of events cut for one destination, with what is to become of each.
struct Request {
    enum Fate: Equatable {
        case send(token: Int, epoch: UInt64)
        case settle(Disposition)
    }

    struct Item {
        let sequence: Int
        let fate: Fate
    }

    let destination: Int
    let log: Int
    let items: [Item]

    var last: Int { items.last?.sequence ?? 0 }

    var sent: [(sequence: Int, token: Int, epoch: UInt64)] {
        items.compactMap { item in
            if case .send(let token, let epoch) = item.fate { (item.sequence, token, epoch) } else { nil }
        }
    }
}

extension ModelQueue {
    /// The next request of a destination: nil where nothing waits, or storage does not let it.
    func formRequest(_ destination: Int, _ log: Int, now: Int) throws(DiskError) -> Request? {
        let low = cursors[destination, log].slot.low
        let cursor = cursors[destination, log]
        if low - cursor.durableLow >= Self.window || cursor.durableLow < cursor.durableDue {
            do { try synchroniseCursors() } catch .crash { throw .crash } catch .failed { return nil }
        }
        var items: [Request.Item] = []
        var sends = 0
        var sequence = low
        while sequence < logs[log].next, sends < Self.eventsPerRequest, items.count < 2 * Self.eventsPerRequest {
            let fate = fate(of: sequence, in: log, for: destination, now: now)
            if case .send = fate { sends += 1 }
            items.append(Request.Item(sequence: sequence, fate: fate))
            sequence += 1
        }
        let request = Request(destination: destination, log: log, items: items)
        guard sends == 0 else { return request }
        try settle(request, through: request.last)
        return nil
    }

    private func fate(of sequence: Int, in log: Int, for destination: Int, now: Int) -> Request.Fate {
        let (event, epoch) = event(log, sequence)
        let letter = Letter(destination: destination, log: log, epoch: epoch, sequence: sequence)
        switch event {
        case .hole: return .settle(.purged)
        case .damaged: return .settle(letters.contains(letter) ? .dead : .quarantined)
        case .record(let record):
            if letters.contains(letter) { return .settle(.dead) }
            if let deadline = record.deadline, deadline <= now { return .settle(.expired) }
            return .send(token: record.token, epoch: epoch)
        }
    }

    /// The collector took a request, perhaps long ago.
    func acknowledge(_ request: Request) throws(DiskError) {
        if variant == .lateAcknowledgementWins {
            let dispositions = request.items.map { ($0.sequence, $0.fate.disposition) }
            return try settle(request.destination, request.log, dispositions)
        }
        try settle(request, through: request.last)
    }

    /// Settles what is not settled yet; an event purged meanwhile counts as purged.
    private func settle(_ request: Request, through last: Int) throws(DiskError) {
        let low = cursors[request.destination, request.log].slot.low
        guard let first = request.items.first?.sequence, first <= low else { return }
        let open = request.items.filter { $0.sequence >= low && $0.sequence <= last }
        let dispositions = open.map { item in
            (item.sequence, event(request.log, item.sequence).event == .hole ? .purged : item.fate.disposition)
        }
        try settle(request.destination, request.log, dispositions)
    }

    /// The collector refused the first event of a request for good: the letter is durable before the cursor moves.
    func deadLetter(_ request: Request) throws(DiskError) {
        guard let refused = request.sent.first else { return }
        try settle(request, through: refused.sequence - 1)
        let low = cursors[request.destination, request.log].slot.low
        guard low == refused.sequence, event(request.log, low).event != .hole else { return }
        let letter = Letter(
            destination: request.destination, log: request.log, epoch: refused.epoch, sequence: refused.sequence)
        if variant == .cursorBeforeDeadLetter {
            try settle(request.destination, request.log, [(refused.sequence, .dead)])
            try synchroniseCursors()
            try store(letter)
        } else {
            try store(letter)
            try settle(request.destination, request.log, [(refused.sequence, .dead)])
        }
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
}

extension Request.Fate {
    var disposition: Disposition {
        switch self {
        case .send: .delivered
        case .settle(let disposition): disposition
        }
    }
}

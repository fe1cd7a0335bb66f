extension Truth {
    enum End {
        /// The process died; the page cache did not.
        case kill
        case powerCut
    }

    /// Compares what a start found with what is known.
    mutating func restart(_ queue: ModelQueue, after end: End) throws(Violation) {
        let recovered = queue.settled
        queue.settled = []
        try require(slotsDamaged || recovered.isEmpty, "events vanished whose cursor was not synced")
        for destination in 0..<ModelQueue.destinations {
            for log in 0..<ModelQueue.logs { try compare(destination, log, queue, after: end) }
        }
        slotsDamaged = false
        try checkEvents(queue)
        try check(queue)
    }

    private mutating func compare(
        _ destination: Int, _ log: Int, _ queue: ModelQueue, after end: End
    ) throws(Violation) {
        var account = self[destination, log]
        let slot = queue.cursors[destination, log].slot
        let name = "destination \(destination), log \(log)"
        try require(slot.low <= account.low, "\(name): low \(slot.low) is beyond \(account.low)")
        let isKnown =
            slot.low >= account.base.low && slot.ledger == account.ledger(at: slot.low)
            && slot.origin == account.base.origin
        if slotsDamaged {
            try require(slot.low - 1 == slot.origin + slot.ledger.total, "\(name): a ledger that does not add up")
            let oldest = queue.oldest(log)
            try require(isKnown || slot.low <= oldest, "\(name): starts at \(slot.low), the oldest is \(oldest)")
            if !isKnown { account.base = slot }
        } else {
            try require(isKnown, "\(name): ledger \(slot.ledger) at \(slot.low) was never true")
            let bound = end == .kill ? account.low : account.durableLow
            let slack = queue.disk.hasFailed && end == .kill ? ModelQueue.window + 2 * Request.most : 0
            try require(slot.low >= bound - slack, "\(name): low went back to \(slot.low), below \(bound)")
            let resent = account.low - slot.low
            try require(resent <= ModelQueue.window + 2 * Request.most, "\(name): \(resent) events are sent again")
        }
        if account.base.low > slot.low { account.base = slot }
        account.dispositions.removeLast(account.dispositions.count - (slot.low - account.base.low))
        account.durableLow = slot.low
        let letters = queue.letterCells.count {
            $0.destination == destination && $0.log == log && $0.sequence < slot.low
        }
        try require(slot.ledger[.dead] <= letters, "\(name): \(slot.ledger[.dead]) dead, \(letters) letters")
        self[destination, log] = account
    }

    /// Every acknowledged event is there for every destination that still waits for it.
    func checkEvents(_ queue: ModelQueue) throws(Violation) {
        let lows = (0..<ModelQueue.logs).map { log in
            (0..<ModelQueue.destinations).map { queue.cursors[$0, log].slot.low }.min() ?? 1
        }
        for (place, posted) in acknowledged {
            try require(place.sequence < queue.logs[place.log].next, "\(place) is forgotten")
            guard place.sequence >= lows[place.log] else { continue }
            let (event, epoch) = queue.event(place.log, place.sequence)
            switch event {
            case .record(let record):
                try require(record.token == posted.token, "another event stands for \(place)")
                try require(epoch == posted.epoch, "\(place) has another id")
                try require(!purged.contains(place), "\(place) is back after its purge")
            case .hole: try require(purgeAsked.contains(place), "\(place) is a hole")
            case .damaged: try require(damaged.contains(place), "\(place) is lost")
            }
        }
        for segment in queue.logs.flatMap(\.segments) {
            guard case .segment(let header) = queue.disk.cells(segment.file).first else { continue }
            let holes = queue.disk.cells(segment.file).count { cell in
                if case .hole = cell { true } else { false }
            }
            try require(holes <= header.holes, "segment \(segment.id) has \(holes) holes, says \(header.holes)")
        }
    }
}

extension Request {
    /// The most events that it passes.
    static let most = 2 * ModelQueue.eventsPerRequest
}

internal import Time

/// What a destination waits for that has expired is settled though nothing is sent to it, so that a full queue does not
/// refuse new events for dead ones.
extension Queue {
    /// A cursor that has not moved for so long is looked at: what moves expires when it is read for delivery.
    private static let stillness = Duration.seconds(10)
    /// Events that expire one after the other are settled together, so late.
    private static let leastWait = Duration.seconds(1)
    /// How long after a failed read it is tried again.
    private static let readRest = Duration.seconds(5)

    /// What is known of the event at a cursor.
    struct Head {
        /// Its sequence number.
        let low: UInt64
        /// When it expires by the age clock, in milliseconds; nil before it was looked at.
        var expires: UInt64?
    }

    /// Looks at cursors when that is due, at most at one that has events to settle or to read.
    ///
    /// Returns when it wants to be called again, `now` where something was done; nil where nothing waits.
    func expireHeads(at now: Instant, age: UInt64) -> Instant? {
        if headsChanged {
            headsChanged = false
            headsDue = min(headsDue ?? .distantFuture, now + Self.stillness)
        }
        guard let due = headsDue, due <= now else { return headsDue }
        var next: Instant?
        for (key, cursor) in cursors.sorted(by: { $0.value.slot < $1.value.slot }) {
            let low = cursor.state.low
            guard let log = logs[key.log], low <= log.last else { continue }
            guard let head = heads[key], head.low == low else {
                heads[key] = Head(low: low)
                next = now + Self.stillness
                continue
            }
            guard let expires = head.expires, expires > age else {
                do throws(QueueError) {
                    heads[key] = try expireHead(key, log, age: age)
                    headsDue = now
                } catch {
                    headsDue = now + Self.readRest
                }
                return headsDue
            }
            if expires < .max {
                let wait = Duration.milliseconds(min(expires - age, UInt64(Int32.max)))
                next = min(next ?? .distantFuture, now + max(wait, Self.leastWait))
            }
        }
        headsDue = next
        return next
    }

    /// Settles what has expired from a cursor on, as far as one read goes, and returns what is at the cursor then.
    private func expireHead(_ key: CursorKey, _ log: LogState, age: UInt64) throws(QueueError) -> Head {
        let low = cursors[key]?.state.low ?? 1
        if let last = expiredSegments(of: log, from: low, age: age) {
            move(key, [Disposition(.expired, low...last)])
            return Head(low: last + 1)
        }
        guard let chunk = try read(log.name, for: key.destination, from: low, limit: 1, age: age) else {
            return Head(low: low, expires: .max)
        }
        let live = chunk.records.first?.sequence ?? chunk.sequences.upperBound + 1
        if live > low { move(key, chunk.dispositions(of: low...live - 1)) }
        return Head(low: live, expires: chunk.records.isEmpty ? nil : chunk.firstExpires)
    }

    private func move(_ key: CursorKey, _ dispositions: [Disposition]) {
        let counted = countingLetters(dispositions, key)
        settle(destination: key.destination, log: key.log, counted)
        for run in counted {
            moves.append(
                CursorMove(
                    destination: key.destination, log: key.log, low: run.sequences.upperBound + 1, kind: run.kind,
                    count: run.count))
        }
    }

    /// The last event of the segments from the one that holds `low` on that `MaxAge` has expired as a whole, because
    /// the next one was begun so long ago; nil where there is none, and only as far as there are no holes.
    private func expiredSegments(of log: LogState, from low: UInt64, age: UInt64) -> UInt64? {
        let expiry = expiry(at: age)
        guard expiry.maximumAge < .max, var index = index(holding: low, in: log), low <= log.end(of: index) else {
            return nil
        }
        var last: UInt64?
        while index + 1 < log.segments.count, let this = try? header(of: log, index), this.holes == 0,
            let next = try? header(of: log, index + 1), expiry.isOver(madeDurableAt: next.age, timeToLive: 0)
        {
            last = log.end(of: index)
            index += 1
        }
        return last.flatMap { $0 >= low ? $0 : nil }
    }
}

internal import Queue
internal import Time

/// What is known of the dead letters of a destination that are to be sent again.
struct LetterQueue: Sendable {
    /// False once the disk has said that there is none that may leave.
    private(set) var mayWait = true
    /// The read in flight.
    private(set) var read: UInt64?
    /// Not to be read before, after a read that failed.
    private(set) var readableFrom: Instant?
    /// The next one.
    private(set) var ahead: (chunk: Chunk, attempts: Int)?
    /// True where something else was sent since the last.
    var isTheirTurn = true

    /// True where the next batch is to be a letter.
    var isNext: Bool { ahead != nil && isTheirTurn }

    mutating func begin(read id: UInt64) { (read, readableFrom) = (id, nil) }

    mutating func took(_ found: LetterFound, read id: UInt64, at now: Instant) {
        guard read == id else { return }
        read = nil
        switch found {
        case .letter(let chunk, let attempts): ahead = (chunk, attempts)
        case .none: mayWait = false
        case .failed: readableFrom = now + Destination.readPause
        }
    }

    mutating func take() -> (chunk: Chunk, attempts: Int)? {
        isTheirTurn = false
        return ahead.take()
    }

    /// What was read may not be there any more, or not leave, and what was not may be.
    mutating func changed() {
        (mayWait, ahead, read, readableFrom) = (true, nil, nil, nil)
    }
}

/// Dead letters that are sent again: each alone, in turn with what else there is.
extension Destination {
    mutating func lettersChanged() {
        letters.changed()
        for place in places.indices where places[place].isFree && places[place].batch?.isLetter ?? false {
            places[place].batch = nil
        }
    }

    mutating func readLetter(at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard letters.mayWait, letters.ahead == nil, letters.read == nil,
            letters.readableFrom.map({ $0 <= now }) ?? true, !places.contains(where: { $0.batch?.isLetter ?? false })
        else { return }
        let id = newID()
        letters.begin(read: id)
        effects.append(.readLetter(id: id, passage))
    }

    /// The letter that is to go next; nil where something else is, or none was read.
    mutating func formLetter(_ place: Int, at now: Instant) -> Batch? {
        guard place == Place.rest, places[place].aside == nil, letters.isNext || nextLog(place, at: now) == nil,
            let (chunk, attempts) = letters.take()
        else { return nil }
        var backlog = Backlog(
            LogPosition(
                log: chunk.log, low: chunk.sequences.lowerBound, newest: chunk.sequences.upperBound))
        backlog.took(chunk)
        var batch = forming.form(from: &backlog, sentConnectionType: connectionType, nonce: random.next())
        batch.triesAsLetter = attempts
        return batch
    }
}

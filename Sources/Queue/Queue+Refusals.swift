internal import Gates
internal import Reachability
package import Time

/// How a destination refused an event for good.
package struct EventRefusal: Sendable, Equatable {
    /// The answer's status.
    package let status: Int
    package let attempts: Int
    /// The start of the answer, of which 2 KiB are kept.
    package let detail: [UInt8]

    package init(status: Int, attempts: Int, detail: [UInt8]) {
        self.status = status
        self.attempts = attempts
        self.detail = detail
    }
}

/// What delivery asks for about single events.
extension Queue {
    /// Keeps an event, or a letter that was sent again, as a dead letter with its newest answer; durable on return.
    ///
    /// The event's id; nil where it is not to be sent any more: it is settled, purged, damaged, or a letter already.
    ///
    /// - Throws: as `bury`, and `failed` where the disk gives an error at reading the event.
    package func bury(
        _ sequence: UInt64, of log: LogName, for destination: String, _ refusal: EventRefusal, at wall: WallTime
    ) throws(QueueError) -> EventID? {
        let name = DeadLetterName(destination: destination, log: log, sequence: sequence)
        guard let (id, event, acceptedAt, type) = try refused(name) else { return nil }
        try bury([
            DeadLetter(
                destination: destination, log: log, id: id, event: event, acceptedAt: acceptedAt,
                connectionType: type, status: refusal.status, attempts: refusal.attempts, at: wall,
                detail: refusal.detail)
        ])
        return id
    }

    /// The first dead letter of a destination, in logs for which `mayLeave` is true, that is to be sent again, and how
    /// often it was; nil where there is none.
    ///
    /// One that is damaged is a letter as before.
    ///
    /// - Throws: `failed` where the disk gives an error.
    package func nextRetried(
        of destination: String, where mayLeave: (LogName) -> Bool
    ) throws(QueueError) -> (Chunk, attempts: Int)? {
        let keys = letterKeys(of: destination).filter { mayLeave($0.log) }
        while let key = keys.first(where: { retried($0) > 0 }), let first = deadLetters.retried(key).first {
            let name = DeadLetterName(destination: destination, log: key.log, sequence: first)
            do throws(QueueError) {
                guard let letter = try deadLetters.read(name) else { return nil }
                let record = Chunk.Record(
                    sequence: name.sequence, range: 0..<letter.event.count, acceptedAt: letter.acceptedAt, context: 0)
                let context = AcceptContext(
                    connectionType: letter.connectionType, destinations: [(destination, .destination)])
                let chunk = Chunk(
                    log: name.log, epoch: letter.id.epoch, sequences: name.sequence...name.sequence,
                    bytes: letter.event, records: [record], contexts: [context])
                return (chunk, letter.attempts)
            } catch {
                guard case .damagedLetter = error else { throw error }
                remember(error)
                try deadLetters.rename(name, from: .retry, to: .letter)
                deadLetters.set(name, to: .waiting)
            }
        }
        return nil
    }

    private func refused(
        _ name: DeadLetterName
    ) throws(QueueError) -> (EventID, event: [UInt8], acceptedAt: WallTime?, ConnectionType)? {
        if deadLetters.stage(of: name) == .retried {
            return try deadLetters.read(name).map { letter in
                (letter.id, letter.event, letter.acceptedAt, letter.connectionType)
            }
        }
        let low = cursor(destination: name.destination, log: name.log)?.low
        guard low.map({ $0 <= name.sequence }) ?? false,
            let chunk = try read(name.log, for: name.destination, from: name.sequence, limit: 1, age: 0),
            let record = chunk.records.first, record.sequence == name.sequence
        else { return nil }
        return (
            EventID(epoch: chunk.epoch, sequence: record.sequence), Array(chunk.bytes[record.range]),
            record.acceptedAt, chunk.contexts[record.context].connectionType
        )
    }
}

package import Time

/// An event that is kept, looked at and left where it is.
package struct KeptEvent: Sendable, Equatable {
    package let id: EventID
    package let log: LogName
    /// Nil where the clock was not synchronised.
    package let acceptedAt: WallTime?
    /// How long it has been there.
    package let age: Duration
    /// The destinations that have not settled it, in the order of their names.
    package let destinations: [String]
    package let bytes: [UInt8]
}

extension Queue {
    /// The event of that id; nil where none is kept, or it cannot be read.
    ///
    /// `age` is the age clock, in milliseconds.
    ///
    /// - Throws: `failed` where the disk gives an error.
    package func event(_ id: EventID, at age: UInt64) throws(QueueError) -> KeptEvent? {
        for log in logsInOrder where id.sequence >= log.oldest && id.sequence <= log.last {
            if let event = try event(in: id.sequence...id.sequence, of: log, at: age), event.id == id { return event }
        }
        return nil
    }

    /// For each log the oldest event that some destination has not settled; nil where none can be read in its segment.
    package func oldestEvents(at age: UInt64) -> [LogName: KeptEvent] {
        var oldest: [LogName: KeptEvent] = [:]
        for log in logsInOrder {
            let low = leastLow(in: log.name) ?? log.oldest
            oldest[log.name] = low <= log.last ? try? event(in: low...log.last, of: log, at: age) : nil
        }
        return oldest
    }

    /// The first of these events that is neither purged nor damaged, in the segment of the very first.
    private func event(
        in sequences: ClosedRange<UInt64>, of log: LogState, at age: UInt64
    ) throws(QueueError) -> KeptEvent? {
        let first = sequences.lowerBound
        guard let index = index(holding: first, in: log), first <= log.end(of: index) else { return nil }
        var builder = ChunkBuilder(limit: 1, expiry: .never)
        try fill(
            &builder, log, index, from: first, through: min(sequences.upperBound, log.end(of: index)), limit: 1)
        guard let record = builder.records.first else { return nil }
        let waiting = cursors.filter { $0.key.log == log.name && $0.value.state.low <= record.sequence }
        return KeptEvent(
            id: EventID(epoch: builder.epoch, sequence: record.sequence), log: log.name, acceptedAt: record.acceptedAt,
            age: .milliseconds(age > builder.age ? age - builder.age : 0),
            destinations: waiting.map(\.key.destination).sorted(), bytes: Array(builder.bytes[record.range]))
    }
}

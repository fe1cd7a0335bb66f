extension Queue {
    /// How long the oldest event that a destination has not settled has been waiting, in milliseconds.
    ///
    /// `age` is the age clock now. Nil where nothing waits or the event cannot be read.
    package func oldestAge(of destination: String, at age: UInt64) -> UInt64? {
        let waiting = cursors.filter { $0.key.destination == destination }
        let ages = waiting.compactMap { key, cursor -> UInt64? in
            guard let accepted = acceptedAge(at: key, cursor.state.low) else { return nil }
            return age > accepted ? age - accepted : 0
        }
        return ages.max()
    }

    /// The age clock when the event at a cursor was made durable; nil where it is not there.
    private func acceptedAge(at key: CursorKey, _ sequence: UInt64) -> UInt64? {
        if let known = lookedUpAges[key], known.sequence == sequence { return known.age }
        guard let log = logs[key.log], sequence <= log.last, let index = index(holding: sequence, in: log),
            sequence <= log.end(of: index)
        else { return nil }
        var builder = ChunkBuilder(limit: 1, expiry: .never)
        try? fill(&builder, log, index, from: sequence, through: sequence, limit: 1)
        guard !builder.records.isEmpty else { return nil }
        lookedUpAges[key] = (sequence, builder.age)
        return builder.age
    }
}

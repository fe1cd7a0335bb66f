internal import Bytes
internal import Posix

extension Queue {
    /// The least number of failed tries after which bytes that the disk does not give count as damaged.
    static let triesBeforeDamage = 5
    private static let maximumOpenFiles = 8

    /// The events of a log for a destination from a sequence number on, or from its cursor where that is further.
    ///
    /// About `limit` bytes of them; nil where none is durable yet, or where there is no such log. `age` is the age
    /// clock now, in milliseconds. Every checksum is verified again. What is no event to be sent is in the chunk's
    /// `disposed`; the bytes of what cannot be read are copied aside, and `takeDamages` names it.
    ///
    /// - Throws: `failed` where the disk gives an error; after five tries the bytes count as damaged.
    package func read(
        _ log: LogName, for destination: String, from first: UInt64, limit: Int, age: UInt64
    ) throws(QueueError) -> Chunk? {
        precondition(first >= 1 && limit > 0)
        let sequence = max(first, cursor(destination: destination, log: log)?.low ?? 1)
        guard let state = logs[log], sequence <= state.last else { return nil }
        guard let index = index(holding: sequence, in: state), sequence <= state.end(of: index) else {
            return missing(state, from: sequence, for: destination)
        }
        let key = CursorKey(destination: destination, log: log)
        var builder = ChunkBuilder(
            limit: limit, expiry: expiry(at: age), buried: deadLetters.pending(key, from: sequence))
        try fill(&builder, state, index, from: sequence, through: state.end(of: index), limit: limit)
        if !builder.lost.isEmpty, index > 0 { rescue(&builder, state, before: index) }
        for lost in builder.lost { note(lost, in: state) }
        let disposed = countingLetters(builder.disposed, key)
        let last = max(builder.records.last?.sequence ?? 0, disposed.last?.sequences.upperBound ?? 0)
        return Chunk(
            log: log, epoch: builder.epoch, sequences: sequence...last, bytes: builder.bytes,
            records: builder.records, contexts: builder.contexts, disposed: disposed,
            firstExpires: builder.firstExpires)
    }

    /// A chunk that accounts for events that no segment holds.
    private func missing(_ log: LogState, from sequence: UInt64, for destination: String) -> Chunk {
        let next = log.segments.indices.filter { log.end(of: $0) > sequence }.map { log.segments[$0].name.first }
        let end = (next.filter { $0 > sequence }.min() ?? log.last + 1) - 1
        let before = log.segments.last { $0.name.first <= sequence }
        noteMissing(sequence...end, segment: before?.name.id ?? 0, in: log)
        return Chunk(
            log: log.name, epoch: 0, sequences: sequence...end, bytes: [], records: [], contexts: [],
            disposed: countingLetters(
                [Disposition(.quarantined, sequence...end)], CursorKey(destination: destination, log: log.name)))
    }

    func fill(
        _ builder: inout ChunkBuilder, _ log: LogState, _ index: Int, from sequence: UInt64, through end: UInt64,
        limit: Int
    ) throws(QueueError) {
        let segment = log.segments[index]
        let isTolerant = log.failedRead == (sequence, Self.triesBeforeDamage)
        do throws(QueueError) {
            let known = log.places.take(segment: segment.name.id, sequence: sequence)
            let searched = known == nil ? acknowledgedEnd(of: index, in: log) : nil
            let source = try openFile(of: segment.name, at: log.path(of: segment.name))
            window.attach(source.file, end: source.size, isTolerant: isTolerant)
            defer { window.detach() }
            let near = searched.flatMap { searched in
                try? BatchWalk(
                    searching: window, segment: segment.name.id, seal: identity.seal, for: sequence,
                    in: Block.least..<max(Block.least, min(source.size, searched)), to: source.size)
            }
            let before = builder
            var place =
                known
                ?? ReadPlace(
                    window, segment.name, seal: identity.seal, sequence: sequence, end: source.size, from: near)
            try attempt(.read, log.path(of: segment.name)) { () throws(Errno) in
                try place.fill(&builder, through: end, limit: limit)
                // Only what is not found from the first block on is not there.
                guard near != nil, builder.lost.count > before.lost.count else { return }
                builder = before
                place = ReadPlace(window, segment.name, seal: identity.seal, sequence: sequence, end: source.size)
                try place.fill(&builder, through: end, limit: limit)
            }
            if !place.isAtEnd { log.places.put(place) }
            log.failedRead = (0, 0)
        } catch {
            if case .failed(.open, _, _, .noEntry) = error {
                builder.lost.append(
                    ChunkBuilder.Lost(
                        sequences: sequence...end, first: sequence, segment: segment.name.id, bytes: 0..<0))
                return
            }
            let times = log.failedRead.sequence == sequence ? log.failedRead.times : 0
            log.failedRead = (sequence, min(times + 1, Self.triesBeforeDamage))
            throw error
        }
    }

    /// Up to where a segment's batches go, as far as is known without reading it.
    private func acknowledgedEnd(of index: Int, in log: LogState) -> Int {
        let segment = log.segments[index].name.id
        if let tip = log.tip, tip.segment == segment { return tip.validLength }
        guard index + 1 < log.segments.count, let previous = (try? header(of: log, index + 1))?.previous,
            previous.segment == segment
        else { return .max }
        return previous.validLength
    }

    func openFile(
        of name: SegmentName, at path: String
    ) throws(QueueError) -> (segment: UInt64, file: any StorageFile, size: Int) {
        if let open = openFiles.first(where: { $0.segment == name.id }) { return open }
        let open = try attempt(.open, path) { () throws(Errno) in
            let file = try storage.open(path, .readOnly)
            return (segment: name.id, file: file, size: try file.size())
        }
        if openFiles.count == Self.maximumOpenFiles { openFiles.removeLast() }
        openFiles.insert(open, at: 0)
        return open
    }

    /// Looks for lost events in the segments before, as far back as commits made again may have left them.
    ///
    /// A segment is looked at only as far as a later one's header says that it was acknowledged, which is the next one
    /// or, of a row of copies that starts cut off have left, the one behind them; to its end where that header cannot
    /// be read, unless nothing was made again in that one.
    private func rescue(_ builder: inout ChunkBuilder, _ log: LogState, before index: Int) {
        for earlier in (0..<index).reversed() {
            let name = log.segments[earlier].name
            guard let first = builder.lost.first?.sequences.lowerBound else { return }
            guard isProven(earlier, of: log) else { continue }
            var last = UInt64.max
            var validLength = Int.max
            if let previous = try? header(of: log, earlier + 1)?.previous {
                last = previous.last
                if previous.segment == name.id { validLength = previous.validLength }
                // No earlier one was acknowledged further.
                guard first <= last else { return }
            } else {
                guard builder.epoch == 0 || !beginsWithNewEvents(log.segments[earlier + 1].name, of: log) else {
                    continue
                }
            }
            for lost in builder.lost where lost.sequences.lowerBound <= builder.end {
                let end = min(lost.sequences.upperBound, last)
                guard name.first <= lost.sequences.lowerBound, lost.sequences.lowerBound <= end,
                    let source = try? openFile(of: name, at: log.path(of: name))
                else { continue }
                window.attach(source.file, end: min(source.size, validLength), isTolerant: true)
                defer { window.detach() }
                var place = ReadPlace(
                    window, name, seal: identity.seal, sequence: lost.sequences.lowerBound,
                    end: min(source.size, validLength))
                var found = ChunkBuilder(
                    limit: OpenBatch.maximumBytes, expiry: builder.expiry, buried: builder.buried)
                _ = try? place.fill(&found, through: end, limit: found.limit)
                builder.rescue(found, of: lost.sequences.lowerBound...end, upTo: place.sequence - 1)
            }
        }
    }

    /// A segment's header; nil where it is damaged or not the segment's.
    func header(of log: LogState, _ index: Int) throws(QueueError) -> SegmentHeader? {
        let name = log.segments[index].name
        let source = try openFile(of: name, at: log.path(of: name))
        return try attempt(.read, log.path(of: name)) { () throws(Errno) in
            window.attach(source.file, end: source.size, isTolerant: false)
            defer { window.detach() }
            return try SegmentScan.header(window, segment: name.id)
        }
        .flatMap { $0.isOf(name, log: log.name, identity: identity) ? $0 : nil }
    }

    private func note(_ lost: ChunkBuilder.Lost, in log: LogState) {
        guard let source = openFiles.first(where: { $0.segment == lost.segment }) else {
            noteMissing(lost.sequences, segment: lost.segment, in: log)
            return
        }
        if let index = log.segments.firstIndex(where: { $0.name.id == lost.segment }) {
            log.segments[index].isSound = false
        }
        guard
            quarantine.take(
                source.file, of: log.name, segment: lost.segment, at: lost.bytes.lowerBound, count: lost.bytes.count),
            newDamages.count < RecoveryReport.maximumDamages
        else { return }
        newDamages.append(
            RecoveryReport.Damage(
                kind: lost.bytes.isEmpty ? .missing : .corrupted, log: log.name, segment: lost.segment,
                offset: lost.bytes.lowerBound,
                length: lost.bytes.count, sequences: lost.first...lost.sequences.upperBound))
    }

    /// Names events that no file holds, once for all destinations.
    private func noteMissing(_ sequences: ClosedRange<UInt64>, segment: UInt64, in log: LogState) {
        guard newDamages.count < RecoveryReport.maximumDamages,
            namedMissing[log.name]?.count ?? 0 < RecoveryReport.maximumDamages,
            namedMissing[log.name, default: []].insert(sequences.upperBound).inserted
        else { return }
        newDamages.append(
            RecoveryReport.Damage(
                kind: .missing, log: log.name, segment: segment, offset: 0, length: 0, sequences: sequences))
    }
}

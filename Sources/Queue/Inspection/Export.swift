internal import Gates
internal import Posix
internal import Time

/// The events of a queue one after another, for somebody who is no destination.
package final class Export {
    /// Bytes of events in a chunk, about.
    private static let chunkBytes = 256 * 1_024
    /// No destination has this name, so that nothing is settled for it; nor does anything expire at age 0.
    private static let nobody = ""
    private static let mostDamages = 1_000

    /// What could not be read so far, at most a thousand places.
    package private(set) var damages: [Verification.Damage] = []
    /// Events that could not be read so far.
    package private(set) var unreadable: UInt64 = 0

    private let queue: Queue
    private let inspection: Inspection
    private let storage: any Storage
    /// Dead letters whose events no log gives, from the last one to be printed to the first.
    private var letters: [Inspection.LetterFile]
    /// The first event of each log that was read, and the letters' events so far.
    private var starts: [LogName: UInt64] = [:]
    private var given: [LogName: Set<UInt64>] = [:]
    private var logs: [LogName]
    /// The next event of the first of `logs`.
    private var nextSequence: UInt64?
    private let startsAtCursors: Bool
    /// What the start has found and no read has met yet.
    private var known: [RecoveryReport.Damage]

    /// The events that some destination has not settled, or all that can be read, those of dead letters behind those
    /// of the logs.
    ///
    /// Where a cursor cannot be read, or a log has none, it is all of them, too.
    package init(_ inspection: Inspection, everything: Bool) {
        self.inspection = inspection
        storage = inspection.storage
        letters = inspection.letterFiles().reversed().filter { everything || $0.state == .retry }
        queue = Queue(
            storage, QueueOptions(), [], inspection.format, lock: nil, randomBits: { 0 }, clock: { Clock.now })
        queue.recover(names: (try? storage.names(in: "")) ?? [], at: inspection.format.created)
        known = queue.recovery.damages
        startsAtCursors = !everything && inspection.cursors().isWhole
        logs = queue.logNames
    }

    /// The next events; nil at the end.
    ///
    /// - Throws: `failed` where the folder of a log cannot be read any more.
    package func next() throws(QueueError) -> Chunk? {
        while let name = logs.first, let log = queue.logs[name] {
            let sequence = nextSequence ?? start(of: log)
            guard let chunk = read(log, from: sequence) else {
                logs.removeFirst()
                nextSequence = nil
                continue
            }
            let lost = chunk.disposed.filter { $0.kind == .quarantined }.map(\.sequences)
            if !lost.isEmpty {
                let hasVanished = try dropVanished(of: log)
                guard !hasVanished else {
                    nextSequence = max(sequence, log.oldest)
                    continue
                }
                // A daemon may have settled them, and dropped their segment, before the log was listed.
                let lows = inspection.cursors().slots.filter { $0.log == name }.map(\.low)
                if startsAtCursors, let low = lows.min(), low > sequence {
                    nextSequence = low
                    _ = queue.takeDamages()
                    continue
                }
            }
            nextSequence = chunk.sequences.upperBound + 1
            unreadable += lost.reduce(0) { $0 + UInt64($1.count) }
            note(queue.takeDamages() + takeKnown(lost, of: name), in: log)
            return chunk
        }
        return nextLetter()
    }

    /// The next event that only a dead letter has.
    private func nextLetter() -> Chunk? {
        while let file = letters.popLast() {
            let (log, sequence) = (file.name.log, file.name.sequence)
            guard sequence < starts[log] ?? .max, given[log]?.contains(sequence) != true,
                let found = inspection.read(file)
            else { continue }
            guard let letter = found.letter else {
                unreadable += 1
                if damages.count < Self.mostDamages { damages.append(inspection.damage(of: file, bytes: found.bytes)) }
                continue
            }
            given[log, default: []].insert(sequence)
            let record = Chunk.Record(
                sequence: sequence, range: 0..<letter.event.count, acceptedAt: letter.acceptedAt, context: 0)
            return Chunk(
                log: log, epoch: letter.id.epoch, sequences: sequence...sequence, bytes: letter.event,
                records: [record], contexts: [.unknown])
        }
        return nil
    }

    /// Damage of the newest segments was found at the start already.
    private func takeKnown(_ lost: [ClosedRange<UInt64>], of log: LogName) -> [RecoveryReport.Damage] {
        let isLost = { (damage: RecoveryReport.Damage) in
            damage.log == log && lost.contains { damage.sequences?.overlaps($0) ?? false }
        }
        defer { known.removeAll(where: isLost) }
        return known.filter(isLost)
    }

    private func note(_ found: [RecoveryReport.Damage], in log: LogState) {
        damages += found.prefix(Self.mostDamages - damages.count).map { describe($0, log) }
    }

    private func describe(_ damage: RecoveryReport.Damage, _ log: LogState) -> Verification.Damage {
        let segment = log.segments.first { $0.name.id == damage.segment }
        return Verification.Damage(
            kind: damage.kind, path: segment.map { log.path(of: $0.name) } ?? log.folder, offset: damage.offset,
            length: damage.length, sequences: damage.sequences)
    }

    private func start(of log: LogState) -> UInt64 {
        let low = startsAtCursors ? queue.leastLow(in: log.name) : nil
        let start = low ?? log.oldest
        starts[log.name] = start
        return start
    }

    /// A disk that gives errors is asked again until the queue takes its bytes for damaged.
    private func read(_ log: LogState, from sequence: UInt64) -> Chunk? {
        while true {
            do throws(QueueError) {
                return try queue.read(log.name, for: Self.nobody, from: sequence, limit: Self.chunkBytes, age: 0)
            } catch {}
        }
    }

    /// Forgets the segments that a daemon has dropped since they were listed, their events being settled; true where
    /// there were any.
    private func dropVanished(of log: LogState) throws(QueueError) -> Bool {
        let names = try queue.attempt(.list, log.folder) { () throws(Errno) in try storage.names(in: log.folder) }
        let count = log.segments.count
        log.segments.removeAll { !names.contains($0.name.text) }
        guard log.segments.count < count else { return false }
        log.places.removeAll()
        _ = queue.takeDamages()
        return true
    }
}

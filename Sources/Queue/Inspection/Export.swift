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

    private let inspection: Inspection
    private let everything: Bool
    private var look: Look
    private var logs: [LogName]
    /// The first event of the first of `logs` that was not given yet, and those that a look has missed.
    private var nextSequence: UInt64 = 1
    private var missed = RangeSet<UInt64>()
    /// Dead letters, from the last one to be given to the first.
    private var letters: [Inspection.LetterFile]
    /// The events of each log that were given, and those that could not be.
    private var given: [LogName: RangeSet<UInt64>] = [:]
    private var lost: [LogName: RangeSet<UInt64>] = [:]

    /// The events that some destination has not settled, or all that can be read, those of dead letters behind those
    /// of the logs.
    ///
    /// Where a cursor cannot be read, or a log has none, it is all of them, too.
    ///
    /// - Throws: `failed` where a folder cannot be read.
    package init(_ inspection: Inspection, everything: Bool) throws(QueueError) {
        self.inspection = inspection
        self.everything = everything
        letters = inspection.letterFiles().reversed().filter { everything || $0.state == .retry }
        look = try Look(inspection, everything: everything)
        logs = look.queue.logNames
        for log in look.queue.logsInOrder where log.unrecovered != nil {
            damages.append(
                Verification.Damage(kind: .corrupted, path: log.folder, offset: 0, length: 0, sequences: nil))
        }
    }

    /// The next events; nil at the end.
    ///
    /// What is missed is told only once it was looked for again: between two steps of the first look a daemon may have
    /// settled and dropped it, or written it elsewhere.
    ///
    /// - Throws: `failed` where a folder cannot be read any more.
    package func next() throws(QueueError) -> Chunk? {
        while let name = logs.first {
            guard let log = look.queue.logs[name], let chunk = read(log, from: start(of: log)) else {
                logs.removeFirst()
                (nextSequence, missed) = (1, RangeSet())
                continue
            }
            let lost = chunk.lost
            if !lost.isEmpty {
                look.lows = inspection.lows(everything: everything)
                guard lost.isSubset(of: missed), start(of: log) <= chunk.sequences.lowerBound else {
                    missed.formUnion(lost)
                    if try look.isOver(for: name, inspection) { look = try Look(inspection, everything: everything) }
                    continue
                }
            }
            note(lost, of: log)
            take(chunk)
            nextSequence = chunk.sequences.upperBound + 1
            return chunk
        }
        return nextLetter()
    }

    /// Events of the logs that are still to come, as far as is known without reading them.
    package var remaining: UInt64 {
        look.queue.logsInOrder.filter { logs.contains($0.name) }.reduce(0) { sum, log in
            let next = log.name == logs.first ? start(of: log) : look.lows[log.name] ?? log.oldest
            return sum + (log.last + 1 > next ? log.last + 1 - next : 0)
        }
    }

    /// Where to go on: a cursor may have passed events, and a daemon dropped their segments, since the last read.
    private func start(of log: LogState) -> UInt64 { max(nextSequence, look.lows[log.name] ?? log.oldest) }

    private func take(_ chunk: Chunk) {
        var events = RangeSet(chunk.sequences.lowerBound..<chunk.sequences.upperBound + 1)
        for run in chunk.disposed { events.remove(contentsOf: run.sequences.lowerBound..<run.sequences.upperBound + 1) }
        given[chunk.log, default: RangeSet()].formUnion(events)
    }

    /// Names what was lost, from what the start and the reads have found.
    private func note(_ events: RangeSet<UInt64>, of log: LogState) {
        let found = look.takeDamages(of: log.name, in: events)
        guard !events.isEmpty else { return }
        unreadable += events.count
        lost[log.name, default: RangeSet()].formUnion(events)
        damages += found.prefix(Self.mostDamages - damages.count).map { describe($0, log) }
    }

    private func describe(_ damage: RecoveryReport.Damage, _ log: LogState) -> Verification.Damage {
        let segment = damage.kind == .missing ? nil : log.segments.first { $0.name.id == damage.segment }
        return Verification.Damage(
            kind: damage.kind, path: segment.map { log.path(of: $0.name) } ?? log.folder, offset: damage.offset,
            length: damage.length, sequences: damage.sequences)
    }

    /// A disk that gives errors is asked again until the queue takes its bytes for damaged; a file that cannot be
    /// opened counts as missing.
    private func read(_ log: LogState, from sequence: UInt64) -> Chunk? {
        while true {
            do throws(QueueError) {
                return try look.queue.read(log.name, for: Self.nobody, from: sequence, limit: Self.chunkBytes, age: 0)
            } catch {
                guard log.failedRead.times == Queue.triesBeforeDamage, case .failed(.open, let path, _, _) = error
                else { continue }
                log.segments.removeAll { path.hasSuffix(log.path(of: $0.name)) }
            }
        }
    }
}

extension Export {
    /// The next event that only a dead letter has.
    private func nextLetter() -> Chunk? {
        while let file = letters.popLast() {
            let (log, sequence) = (file.name.log, file.name.sequence)
            guard given[log]?.contains(sequence) != true, let found = inspection.read(file) else { continue }
            let wasLost = lost[log]?.contains(sequence) == true
            guard let letter = found.letter else {
                if !wasLost { unreadable += 1 }
                if damages.count < Self.mostDamages { damages.append(inspection.damage(of: file, bytes: found.bytes)) }
                continue
            }
            if wasLost { unreadable -= 1 }
            lost[log]?.remove(contentsOf: sequence..<sequence + 1)
            given[log, default: RangeSet()].insert(contentsOf: sequence..<sequence + 1)
            let record = Chunk.Record(
                sequence: sequence, range: 0..<letter.event.count, acceptedAt: letter.acceptedAt, context: 0)
            return Chunk(
                log: log, epoch: letter.id.epoch, sequences: sequence...sequence, bytes: letter.event,
                records: [record], contexts: [.unknown])
        }
        return nil
    }
}

extension Chunk {
    /// The events that could not be read.
    fileprivate var lost: RangeSet<UInt64> {
        RangeSet(
            disposed.filter { $0.kind == .quarantined }.map {
                $0.sequences.lowerBound..<$0.sequences.upperBound + 1
            })
    }
}

extension RangeSet<UInt64> {
    var count: UInt64 { ranges.reduce(0) { $0 + UInt64($1.count) } }
}

internal import Posix
internal import Time

extension Export {
    /// A queue as it was found at some moment, while a daemon may be at work in it.
    struct Look {
        let queue: Queue
        /// The first event of each log that some destination has not settled; none where all are wanted.
        var lows: [LogName: UInt64]
        /// The segments that each log had.
        private let segments: [LogName: [SegmentName]]
        /// What the start has found and no read has met yet.
        private var known: [RecoveryReport.Damage]

        /// Looks at the cursors before the logs: beside a daemon that goes on, later ones would be ahead of them.
        init(_ inspection: Inspection, everything: Bool) throws(QueueError) {
            lows = inspection.lows(everything: everything)
            queue = Queue(
                inspection.storage, QueueOptions(), [], inspection.format, lock: nil, randomBits: { 0 },
                clock: { Clock.now })
            queue.quarantine.forget()
            queue.recover(names: try inspection.names(), at: inspection.format.created)
            for _ in 0...Queue.triesBeforeDamage {
                for log in queue.logsInOrder where log.unrecovered != nil {
                    do throws(QueueError) { try queue.completeRecovery(of: log) } catch {}
                }
            }
            if let error = queue.unlisted { throw error }
            known = queue.recovery.damages
            segments = queue.logs.mapValues { $0.segments.map(\.name) }
        }

        /// True where a log has other files by now; has those that it had opened anew if not.
        func isOver(for name: LogName, _ inspection: Inspection) throws(QueueError) -> Bool {
            queue.openFiles.removeAll()
            guard let log = queue.logs[name] else { return true }
            log.places.removeAll()
            let names = try inspection.segments(of: name)
            return names.filter { !queue.recovery.strays.contains(log.path(of: $0)) } != segments[name]
        }

        /// What was found, in the part of a log that is being read, to have lost any of these events.
        ///
        /// Damage of the newest segments was found at the start already; what was found and could be read then is gone.
        mutating func takeDamages(of log: LogName, in events: RangeSet<UInt64>) -> [RecoveryReport.Damage] {
            let hasLost = { (damage: RecoveryReport.Damage) in
                guard damage.log == log, let sequences = damage.sequences else { return false }
                return !events.isDisjoint(RangeSet(sequences.lowerBound..<sequences.upperBound + 1))
            }
            let found = (queue.takeDamages() + known).filter(hasLost)
            known.removeAll(where: hasLost)
            return found
        }
    }
}

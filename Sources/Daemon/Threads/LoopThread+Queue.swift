internal import Bytes
internal import Control
internal import Intake
internal import Posix
internal import Queue
internal import Reactor
internal import SystemdService
internal import Time

/// What the loop's thread makes of the state of the queue.
extension LoopThread {
    func took(_ newSnapshot: QueueSnapshot) {
        let old = snapshot
        snapshot = newSnapshot
        coordinator.admission.unwritable = newSnapshot.unwritable.map(Coordinator.refusal)
        roomEstimate.take(written: newSnapshot.writtenBytes, at: loop.now)
        if let notice = fillLevel.take(newSnapshot) { log.log(notice) }
        tellOfLosses()
        if newSnapshot.cursorsFailing != old.cursorsFailing {
            tell(.cursors(areDurable: !newSnapshot.cursorsFailing))
        }
        if newSnapshot.storage != old.storage {
            var change = Change(.storage)
            change.from = "\(old.storage)"
            change.to = "\(newSnapshot.storage)"
            change.detail = newSnapshot.lastError.map { "\($0)" }
            watchers.tell(change, at: Clock.wall)
        }
        switch (newSnapshot.storage, storageFailedSince) {
        case (.failing, nil): storageFailedSince = loop.now
        case (.good, .some(let since)):
            log.log(.storageCured(after: loop.now - since))
            storageFailedSince = nil
        default: break
        }
        perform([.statusChanged])
    }

    /// Tells of events that expired or were evicted, now or when it is time.
    private func tellOfLosses() {
        let (notices, next) = lossWatch.take(snapshot, at: loop.now)
        for notice in notices { log.log(notice) }
        guard let next, lossTimer == nil else { return }
        lossTimer = loop.schedule(at: next) { [weak self] in
            self?.lossTimer = nil
            self?.tellOfLosses()
        }
    }

    /// Tells of destinations that the configuration no longer names, but for which events, and all new ones, are kept.
    func tellOfRemoved() {
        let removed = snapshot.cursors.filter(\.isRemoved)
        for name in Set(removed.map(\.destination)).sorted() {
            let events = removed.filter { $0.destination == name }.reduce(0) { $0 + $1.queued }
            log.log(.destinationRemoved(name, events: events))
        }
    }

    /// Tells of an error of the disk, with its number, file and offset.
    func report(_ error: QueueError) {
        guard case .failed(_, let path, let offset, let errno) = error else { return }
        log.log(.storageFailed(errno, file: path, offset: Int64(offset)))
    }

    /// Names what cannot be read; what a copy has made good needs no word.
    func report(_ damages: [RecoveryReport.Damage]) {
        for damage in damages {
            // As the shell would find it: only the name's first part is known of a file that may have gone.
            let file = "logs/\(damage.log.text)/\(Hexadecimal.digits(damage.segment).text)-*.segment"
            if damage.kind == .tornTail {
                log.log(.tornTail(file: file, bytes: Int64(damage.length), sequences: damage.sequences))
            } else if damage.kind == .missing, damage.sequences == nil {
                log.log(.logMissing(log: damage.log.text))
            } else if let sequences = damage.sequences {
                log.log(
                    .eventsQuarantined(
                        log: damage.log.text, file: file, offset: Int64(damage.offset),
                        first: "\(sequences.lowerBound)", last: "\(sequences.upperBound)",
                        events: UInt64(sequences.count)))
            }
        }
    }

    /// Tells what the start found.
    func report(_ recovery: RecoveryReport) {
        report(recovery.damages)
        for reset in recovery.cursorsReset {
            log.log(.cursorReset(destination: reset.destination, log: reset.log.text, first: reset.low))
        }
        for adopted in recovery.lettersAdopted {
            log.log(.lettersAdopted(adopted.count, destination: adopted.destination, log: adopted.log.text))
        }
        for failure in recovery.failures { report(failure) }
        for notice in Notice.strayFiles(recovery.strays) { log.log(notice) }
    }
}

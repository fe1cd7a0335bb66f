internal import Delivery
internal import Gates
internal import Intake
internal import Queue
internal import Reachability
internal import SystemdService
package import Time

extension Coordinator {
    /// A commit of so many bytes of records is large enough not to wait for more.
    private static let gatheredBytes = 1 << 20

    /// Ends a turn of the loop: what waits becomes the next commit, unless one is in hand or more is to be gathered.
    package mutating func endTurn(at now: Instant) -> [CoordinatorEffect] {
        guard admission.hasEvents else {
            gatheringSince = nil
            return []
        }
        let since = gatheringSince ?? now
        gatheringSince = since
        guard commitBegan == nil,
            isStopping || now - since >= commitDelay || admission.waitingBytes >= Self.gatheredBytes
        else { return [] }
        gatheringSince = nil
        commitBegan = now
        let (ordinal, batches) = admission.seal()
        effects.append(.commit(ordinal: ordinal, BatchHandover(batches)))
        return takeEffects()
    }

    mutating func committed(
        _ ordinal: UInt64, _ outcomes: [CommitOutcome], _ batches: BatchHandover, at now: Instant
    ) {
        commitBegan = nil
        if admission.refusal?.reason == .diskSlow {
            admission.refusal = nil
            effects.append(.statusChanged)
        }
        effects.append(.answer(ordinal: ordinal, outcomes.map(Self.answer)))
        for case .refused(let error) in outcomes {
            let refusal = Self.refusal(for: error)
            effects.append(.notice(.intakeRefused(reason: "\(refusal.reason)", detail: refusal.detail)))
        }
        admission.recycle(batches.take())
        var grown: [LogName] = []
        for case .committed(let log, _, let first, let count) in outcomes {
            newest[log] = first + UInt64(count) - 1
            if !grown.contains(log) { grown.append(log) }
        }
        // The first events of a category may be on hold.
        if grown.contains(where: { $0.category != nil }) { withhold(at: now) }
        for log in grown {
            guard let newest = newest[log] else { continue }
            feedAll(.available(log, newest: newest), at: now)
        }
        // The first that waits for consent closes the gate.
        if grown.contains(where: withheld.contains) { tellOfGates() }
    }

    mutating func refuseWhileDiskIsSlow(at now: Instant) {
        guard commitAge(at: now) >= Self.slowDiskLimit, admission.refusal == nil else { return }
        admission.refusal = Refusal(
            .diskSlow, detail: "the disk has not answered for 10 seconds", retryAfterSeconds: 10)
        effects += [.notice(.diskSlow(commitAge(at: now))), .statusChanged]
    }

    /// The accept context follows the gates and the connection type; a change begins a new batch.
    mutating func updateContext(at now: Instant) {
        var type = units.first?.reachability.connectionType ?? .unknown
        // A reload that changes the first destination is no change of the network.
        if units.first?.reachability.state == .unknown { type = connectionType }
        if type != connectionType {
            tellOfNetwork(type)
            if connectionType != .unknown {
                effects.append(.notice(.networkChanged(from: connectionType.name, to: type.name)))
            }
            connectionType = type
            connectionTypeSince = now
        }
        let gates = units.map { (name: $0.name, gate: $0.delivery.gates.current) }
        admission.context = AcceptContext(connectionType: type, destinations: gates)
        admission.contextOnHold = AcceptContext(
            connectionType: type,
            destinations: gates.map { name, gate in
                (name, gate.map { $0.rawValue < Gate.consent.rawValue ? $0 : .consent } ?? .consent)
            })
    }

    private static func answer(_ outcome: CommitOutcome) -> BatchOutcome {
        switch outcome {
        case .committed(_, let epoch, let first, _): .durable(epoch: epoch, first: first)
        case .refused(let error): .refused(refusal(for: error))
        }
    }

    /// What clients are told of an error.
    static func refusal(for error: QueueError) -> Refusal {
        switch error {
        case .full(let log, _, _):
            Refusal(.full, logs: [log], detail: "the queue is full for \(log.text) events", retryAfterSeconds: 30)
        case _ where error.isLackOfRoom:
            Refusal(.full, detail: "the file system is full", retryAfterSeconds: 30)
        default:
            Refusal(.diskError, detail: "the disk reports an error", retryAfterSeconds: 5)
        }
    }
}

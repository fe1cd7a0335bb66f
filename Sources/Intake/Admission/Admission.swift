package import Gates
package import Queue
package import Time

/// Where an event that was taken waits.
package struct Position: Sendable, Hashable {
    /// The commit that it will be part of; the first is 1.
    package let ordinal: UInt64
    /// The batch in that commit, as admission numbers them.
    package let batch: Int
    /// Its place in that batch, from 0.
    package let index: Int
}

/// The loop's side of the queue: the batches that the next commit will make durable.
///
/// A batch holds events of one log and one accept context; when either changes, or the batch is full, another is
/// begun in the same commit. Pure: no clock, no descriptor.
package final class Admission {
    /// With this many bytes of records waiting, sessions stop reading until the commit comes back.
    package static let fullBytes = 4 * 1_048_576
    /// The circumstances that events are accepted in; a change begins new batches.
    package var context: AcceptContext {
        get { waiting.context }
        set { waiting.context = newValue }
    }
    /// The circumstances of events of categories that are on hold.
    package var contextOnHold: AcceptContext {
        get { waiting.contextOnHold }
        set { waiting.contextOnHold = newValue }
    }
    /// Which categories may be taken, and sent; a change begins new batches.
    package var consent: Consent {
        get { waiting.consent }
        set { waiting.consent = newValue }
    }
    /// Why events are refused now, whatever their log; nil while they are taken.
    package var refusal: Refusal?
    /// Why the next commit would fail whatever its log; nil where it would not, as far as is known.
    ///
    /// Events are taken nonetheless: it is their commit that decides.
    package var unwritable: Refusal?

    /// The events taken last.
    private(set) var recent: RecentEvents

    private var ordinal: UInt64 = 1
    private var waiting: WaitingBatches
    /// Of the commit sealed last: the number and log of each batch given away.
    private(set) var sealed: [(number: Int, log: LogName)] = []
    /// Called when a commit is sealed, so that there is room for more.
    var whenSealed: (() -> Void)?

    /// An admission with nothing waiting.
    package init(context: AcceptContext, recent: RecentEvents) {
        waiting = WaitingBatches(context: context)
        self.recent = recent
    }

    /// Why events for `log` are refused now.
    package func refusal(for log: LogName) -> Refusal? {
        if let category = log.category, let refusal = Refusal(category, consent) { return refusal }
        guard let refusal, refusal.applies(to: log) else { return nil }
        return refusal
    }

    /// Why the daemon is not ready, which it is while urgent events are made durable; being offline does not matter.
    package var unreadiness: Refusal? { refusal(for: .urgent) ?? unwritable }

    /// Takes a checked event, at most as long as a batch allows; `timeToLiveSeconds` 0: none.
    package func append(
        _ event: Span<UInt8>, to log: LogName, acceptedAt: WallTime?, timeToLiveSeconds: UInt32 = 0,
        key: DuplicateKey = .none
    ) -> Position {
        if let category = log.category, !consent.isUsed(category) { consent.use(category) }
        let (batch, index) = waiting.append(
            event, to: log, acceptedAt: acceptedAt, timeToLiveSeconds: timeToLiveSeconds, key: key)
        let position = Position(ordinal: ordinal, batch: batch, index: index)
        if key != .none { recent.take(key, at: position) }
        return position
    }

    /// The commit that the next event will be part of.
    package var openOrdinal: UInt64 { ordinal }

    /// Bytes of records that wait to be sealed.
    package var waitingBytes: Int { waiting.bytes }

    /// Something waits to be sealed.
    package var hasEvents: Bool { waiting.bytes > 0 }

    /// So much waits that no more should be read.
    package var isFull: Bool { waiting.bytes >= Self.fullBytes }

    /// Gives away what waits as one commit; call it with `hasEvents`, once the commit before it is settled.
    package func seal() -> (ordinal: UInt64, batches: [OpenBatch]) {
        precondition(hasEvents)
        sealed.removeAll(keepingCapacity: true)
        let batches = waiting.seal { number, log in sealed.append((number, log)) }
        ordinal += 1
        whenSealed?()
        return (ordinal - 1, batches)
    }

    /// Learns what became of the commit sealed last, so that repeats of what is durable are known.
    ///
    /// `outcomes` are those of its batches, in the order they were sealed in.
    package func settle(ordinal: UInt64, _ outcomes: [BatchOutcome]) -> Settlement {
        precondition(outcomes.count == sealed.count && ordinal + 1 == self.ordinal)
        var byNumber = [BatchOutcome?](repeating: nil, count: (sealed.last?.number ?? -1) + 1)
        for (sealed, outcome) in zip(sealed, outcomes) { byNumber[sealed.number] = outcome }
        let settlement = Settlement(ordinal: ordinal, outcomes: byNumber)
        recent.settle(settlement)
        return settlement
    }

    /// Refuses the events of some logs that wait to be sealed; nil where there are none.
    package func refuseOpen(_ refused: [LogName: Refusal]) -> Settlement? {
        let discarded = waiting.discard(Array(refused.keys))
        guard let last = discarded.map(\.number).max() else { return nil }
        var outcomes = [BatchOutcome?](repeating: nil, count: last + 1)
        for batch in discarded { outcomes[batch.number] = refused[batch.log].map { .refused($0) } }
        let settlement = Settlement(ordinal: ordinal, outcomes: outcomes)
        recent.settle(settlement)
        return settlement
    }

    /// Forgets what is durable, so that no event that is purged makes its repeat one.
    package func forgetRecent() { recent.forget() }

    /// Takes emptied batches back, for their storage.
    package func recycle(_ batches: consuming [OpenBatch]) { waiting.recycle(batches) }
}

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
    /// The most bytes of storage kept for reuse.
    private static let spareBytes = 8 * 1_048_576

    /// The circumstances that events are accepted in; a change begins new batches.
    package var context: AcceptContext {
        didSet { if context != oldValue { closeBatches() } }
    }
    /// Why events are refused now; nil while they are taken.
    package var refusal: Refusal?

    private var ordinal: UInt64 = 1
    private var open: [OpenBatch] = []
    /// The batch that takes the next event of each log, -1 for none; of the lanes in the order of `LogName.lanes`.
    private var laneBatches = [-1, -1, -1]
    private var categoryBatches: [LogName: Int] = [:]
    private var spare: [OpenBatch] = []
    private var openBytes = 0
    /// Of the commit sealed last: the number and log of each batch given away.
    private(set) var sealed: [(number: Int, log: LogName)] = []
    /// Called when a commit is sealed, so that there is room for more.
    var whenSealed: (() -> Void)?

    /// An admission with nothing waiting.
    package init(context: AcceptContext) { self.context = context }

    /// Why events for `log` are refused now.
    package func refusal(for log: LogName) -> Refusal? {
        guard let refusal, refusal.applies(to: log) else { return nil }
        return refusal
    }

    /// Takes a checked event; at most `OpenBatch` allows for one.
    package func append(_ event: Span<UInt8>, to log: LogName, acceptedAt: WallTime?) -> Position {
        let batch = batch(for: log, bytes: event.count)
        let index = open[batch].append(event, acceptedAt: acceptedAt)
        openBytes += RecordLayout.size(ofEvent: event.count)
        return Position(ordinal: ordinal, batch: batch, index: index)
    }

    /// The commit that the next event will be part of.
    package var openOrdinal: UInt64 { ordinal }

    /// Something waits to be sealed.
    package var hasEvents: Bool { openBytes > 0 }

    /// So much waits that no more should be read.
    package var isFull: Bool { openBytes >= Self.fullBytes }

    /// Gives away what waits as one commit; call it with `hasEvents`, once the commit before it is settled.
    package func seal() -> (ordinal: UInt64, batches: [OpenBatch]) {
        precondition(hasEvents)
        sealed.removeAll(keepingCapacity: true)
        var batches: [OpenBatch] = []
        for number in open.indices where open[number].count > 0 {
            sealed.append((number, open[number].log))
            batches.append(open[number])
        }
        open.removeAll(keepingCapacity: true)
        closeBatches()
        openBytes = 0
        ordinal += 1
        whenSealed?()
        return (ordinal - 1, batches)
    }

    /// Takes emptied batches back, for their storage.
    package func recycle(_ batches: consuming [OpenBatch]) {
        var kept = spare.reduce(0) { $0 + $1.records.capacity }
        for batch in batches where batch.count == 0 {
            kept += batch.records.capacity
            guard kept <= Self.spareBytes, spare.count < 16 else { return }
            spare.append(batch)
        }
    }

    /// Forgets the open events of logs that a commit refused; the batches forgotten.
    func discardOpen(_ logs: [LogName]) -> [(number: Int, log: LogName)] {
        var discarded: [(number: Int, log: LogName)] = []
        for number in open.indices where open[number].count > 0 && logs.contains(open[number].log) {
            openBytes -= open[number].records.count
            open[number] = OpenBatch(log: open[number].log, context: open[number].context)
            setBatch(-1, for: open[number].log)
            discarded.append((number, open[number].log))
        }
        return discarded
    }

    private func batch(for log: LogName, bytes: Int) -> Int {
        let number: Int
        if let lane = Self.lane(of: log) { number = laneBatches[lane] } else { number = categoryBatches[log] ?? -1 }
        if number >= 0, open[number].hasRoom(for: bytes) { return number }
        if var batch = spare.popLast() {
            batch.reuse(log: log, context: context)
            open.append(batch)
        } else {
            open.append(OpenBatch(log: log, context: context))
        }
        setBatch(open.count - 1, for: log)
        return open.count - 1
    }

    private func setBatch(_ number: Int, for log: LogName) {
        if let lane = Self.lane(of: log) { laneBatches[lane] = number } else { categoryBatches[log] = number }
    }

    private func closeBatches() {
        for lane in laneBatches.indices { laneBatches[lane] = -1 }
        categoryBatches.removeAll(keepingCapacity: true)
    }

    private static func lane(of log: LogName) -> Int? {
        switch log {
        case .urgent: 0
        case .normal: 1
        case .bulk: 2
        case .consent: nil
        }
    }
}

internal import Gates
internal import Queue
internal import Time

/// The batches of the commit that is being filled, by their numbers, and the storage for more.
struct WaitingBatches {
    /// The most bytes of storage kept for reuse.
    private static let spareBytes = 8 * 1_048_576
    private static let maximumSpares = 16

    /// The circumstances of what is appended; a change begins new batches.
    var context: AcceptContext {
        didSet { if context != oldValue { closeBatches() } }
    }
    /// The same for events of categories that are on hold.
    var contextOnHold: AcceptContext {
        didSet { if contextOnHold != oldValue { closeBatches() } }
    }
    /// Which categories may be taken, and sent; a change begins new batches.
    var consent = Consent() {
        didSet { if consent.withheld != oldValue.withheld { closeBatches() } }
    }
    /// What waits, in bytes of records.
    private(set) var bytes = 0

    private var batches: [OpenBatch] = []
    /// The batch that takes the next event of each log, -1 for none; of the lanes in the order of `LogName.lanes`.
    private var laneBatches = [-1, -1, -1]
    private var categoryBatches: [LogName: Int] = [:]
    private var spare: [OpenBatch] = []

    init(context: AcceptContext) {
        self.context = context
        contextOnHold = context
    }

    /// Adds an event, at most as long as a batch allows; the number of its batch and its place there.
    mutating func append(
        _ event: Span<UInt8>, to log: LogName, acceptedAt: WallTime?, timeToLiveSeconds: UInt32, key: DuplicateKey
    ) -> (batch: Int, index: Int) {
        bytes += RecordLayout.size(ofEvent: event.count)
        let number: Int
        if let lane = Self.lane(of: log) { number = laneBatches[lane] } else { number = categoryBatches[log] ?? -1 }
        if number >= 0,
            let index = batches[number].append(
                event, acceptedAt: acceptedAt, timeToLiveSeconds: timeToLiveSeconds, duplicateKey: key)
        {
            return (number, index)
        }
        let next = begin(log)
        let first = batches[next].append(
            event, acceptedAt: acceptedAt, timeToLiveSeconds: timeToLiveSeconds, duplicateKey: key)
        guard let index = first else { preconditionFailure("an event is larger than a batch") }
        return (next, index)
    }

    /// Gives away what waits; tells the number and log of each batch.
    mutating func seal(_ tell: (_ number: Int, _ log: LogName) -> Void) -> [OpenBatch] {
        var sealed: [OpenBatch] = []
        swap(&sealed, &batches)
        for number in sealed.indices where sealed[number].count > 0 { tell(number, sealed[number].log) }
        sealed.removeAll { $0.count == 0 }
        closeBatches()
        bytes = 0
        return sealed
    }

    /// Takes emptied batches for their storage.
    mutating func recycle(_ emptied: consuming [OpenBatch]) {
        var kept = spare.reduce(0) { $0 + $1.records.capacity }
        for batch in emptied where batch.count == 0 {
            kept += batch.records.capacity
            guard kept <= Self.spareBytes, spare.count < Self.maximumSpares else { return }
            spare.append(batch)
        }
    }

    /// Forgets what waits for some logs; the batches forgotten.
    mutating func discard(_ logs: [LogName]) -> [(number: Int, log: LogName)] {
        var discarded: [(number: Int, log: LogName)] = []
        for number in batches.indices where batches[number].count > 0 && logs.contains(batches[number].log) {
            bytes -= batches[number].records.count
            batches[number] = OpenBatch(log: batches[number].log, context: batches[number].context)
            setBatch(-1, for: batches[number].log)
            discarded.append((number, batches[number].log))
        }
        return discarded
    }

    private mutating func begin(_ log: LogName) -> Int {
        let context = context(of: log)
        if var batch = spare.popLast() {
            batch.reuse(log: log, context: context)
            batches.append(batch)
        } else {
            batches.append(OpenBatch(log: log, context: context))
        }
        setBatch(batches.count - 1, for: log)
        return batches.count - 1
    }

    private func context(of log: LogName) -> AcceptContext {
        guard let category = log.category, consent.state(of: category) != .allow else { return context }
        return contextOnHold
    }

    private mutating func setBatch(_ number: Int, for log: LogName) {
        if let lane = Self.lane(of: log) { laneBatches[lane] = number } else { categoryBatches[log] = number }
    }

    private mutating func closeBatches() {
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

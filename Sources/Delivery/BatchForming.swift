internal import Bytes
internal import Gates
internal import Queue
internal import Reachability

/// Cuts batches from what was read of a log and renders their bodies.
struct BatchForming: Sendable {
    /// The most events in a batch.
    var maximumEvents: Int
    /// The most bytes in a body; an event that alone is longer goes alone.
    var maximumBytes: Int
    private let destination: String
    private let format: any BodyFormat
    private var enrichment: Enrichment

    /// `allowanceBytes` bounds the body beside the settings.
    init(_ settings: DestinationSettings, allowanceBytes: Int) {
        destination = settings.name
        let layout = settings.format.layout
        format = layout.init(settings)
        maximumEvents = min(settings.batchMaximumEvents, layout.maximumEvents)
        maximumBytes = min(settings.batchMaximumBytes, allowanceBytes)
        enrichment = Enrichment(settings.enrichWith, named: layout.name)
    }

    /// True where what was read of a log makes a batch that could not be larger.
    func isFull(_ backlog: borrowing Backlog) -> Bool {
        backlog.records >= maximumEvents || backlog.aheadBytes >= maximumBytes
    }

    /// Takes the next batch from what was read; there must be a chunk.
    ///
    /// A batch without events accounts for sequence numbers that are disposed of already, and needs no request.
    mutating func form(
        from backlog: inout Backlog, sentConnectionType: ConnectionType, nonce: UInt64
    ) -> Batch {
        let first = backlog.unformed
        let epoch = backlog.ahead[0].epoch
        var body: [UInt8] = []
        body.reserveCapacity(min(maximumBytes, backlog.aheadBytes * 2))
        var events = 0
        var dispositions: [Disposition] = []
        var last = first
        var next = first
        var hasUnmarked = false
        while let chunk = backlog.ahead.first {
            let end = append(
                chunk, from: backlog.taken, backlog.marks, sentConnectionType, &events, &hasUnmarked, to: &body)
            let isWhole = end == chunk.records.count
            last = isWhole ? chunk.sequences.upperBound : chunk.records[end].sequence - 1
            if next <= last {
                for run in chunk.dispositions(of: next...last) { dispositions.extend(run.kind, run.sequences) }
                next = last + 1
            }
            guard isWhole else {
                backlog.taken = end
                break
            }
            backlog.dropChunk()
        }
        if events > 0 { format.close(&body) }
        backlog.formed(through: last)
        let id = (Hexadecimal.digits(epoch) + Array("-\(first)-".utf8) + Hexadecimal.digits(nonce)).text
        return Batch(
            id: id, log: backlog.log, sequences: first...last, dispositions: dispositions, events: events, body: body,
            hasUnmarked: hasUnmarked)
    }

    /// Appends the records of a chunk from `start` on while there is room; returns where it stopped.
    private mutating func append(
        _ chunk: Chunk, from start: Int, _ marks: Marks, _ sentConnectionType: ConnectionType,
        _ events: inout Int, _ hasUnmarked: inout Bool, to body: inout [UInt8]
    ) -> Int {
        let stored = chunk.contexts.map { $0.gate(of: destination) }
        for index in start..<chunk.records.count {
            let record = chunk.records[index]
            let end = body.count
            guard events == 0 || events < maximumEvents && end + record.range.count < maximumBytes else { return index }
            let gate = marks.gate(of: record.sequence, stored: stored[record.context])
            let facts = Enrichment.Facts(
                gate: gate, connectionType: chunk.contexts[record.context].connectionType,
                sentConnectionType: sentConnectionType, epoch: chunk.epoch, sequence: record.sequence,
                acceptedAt: record.acceptedAt)
            format.append(
                chunk.bytes.span.extracting(record.range), facts, &enrichment, isFirst: events == 0, to: &body)
            guard events == 0 || body.count + format.marginBytes <= maximumBytes else {
                body.removeLast(body.count - end)
                return index
            }
            hasUnmarked = hasUnmarked || gate == nil
            events += 1
        }
        return chunk.records.count
    }
}

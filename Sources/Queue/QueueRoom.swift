internal import Bytes

/// What an empty queue has room for: more than that is never taken, however long a client waits.
package struct QueueRoom: Sendable, Hashable {
    /// Lanes leave a segment without events each when they are empty.
    private static let lanes = LogName.lanes.count
    /// FORMAT, cursors, the clock, and the folders; bytes.
    private static let fixedBytes = FormatPage.size + CursorFile.unusedBytes + 4_096 + (3 + lanes) * 4_096
    /// An accept context takes less than this, twice, bytes.
    private static let contextBytes = 512

    private let block: Int
    private let bulkBytes: Int
    private let bytes: Int
    private let urgentBytes: Int

    package init(_ options: QueueOptions) {
        let block = options.block ?? Block.unknownDevice
        let least = roundedUp(block, to: 4_096)
        func room(_ log: LogName) -> Int {
            let limit = min(
                Int(clamping: log.share(of: options.maximumBytes)),
                Int(clamping: options.maximumBytes) - least - options.letterReserve
                    - options.urgentReserve(behind: log))
            return limit - Self.fixedBytes - Self.lanes * least - block
        }
        self.block = block
        bulkBytes = room(.bulk)
        bytes = room(.normal)
        urgentBytes = room(.urgent)
    }

    /// Bytes that the batches of one log may take.
    package func bytes(of log: LogName) -> Int {
        switch log {
        case .bulk: bulkBytes
        case .normal, .consent: bytes
        case .urgent: urgentBytes
        }
    }

    /// True where events, whose records take so many bytes, may fit together.
    package func holds(events: Int, records: Int, in log: LogName) -> Bool {
        let batches = 1 + events / OpenBatch.maximumEvents + records / OpenBatch.maximumBytes
        let each = BatchHeader.size(context: Self.contextBytes, events: 0, records: 0, block: block)
        return records + BatchHeader.tableEntrySize * events + batches * each <= bytes(of: log)
    }
}

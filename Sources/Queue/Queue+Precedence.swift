internal import Bytes
internal import Posix

/// Which lanes are refused: bulk first, urgent last (rule 15).
///
/// Whatever ends the room, be it `MaxSize`, the file system or its files: where a lane could not take an event, no less
/// urgent one does, though its own segment may have room for it.
extension Queue {
    /// Why a lane is refused now, be it for an event of one block or for what its newest commit needed in vain; nil
    /// where it is not.
    ///
    /// `space` is looked up where it is not known and needed, as below.
    func refusal(of lane: LogName, _ space: inout Space?) -> QueueError? {
        let bytes = max(blockSize, lackingBytes[lane] ?? 0)
        if let failure = failureForRoom(of: lane) { return failure }
        return lack(of: lane, for: bytes, &space) ?? lackOfMoreUrgent(than: lane, for: bytes, &space)
    }

    /// The lane with which a log is refused.
    func lane(of log: LogName) -> LogName { log.category == nil ? log : .normal }

    /// What a more urgent lane lacks to take a batch of so many bytes, or one event of the most bytes that an event may
    /// have; nil where all could.
    func lackOfMoreUrgent(than log: LogName, for bytes: Int, _ space: inout Space?) -> QueueError? {
        for lane in log.moreUrgent {
            let failure = failureForRoom(of: lane) ?? lack(of: lane, for: min(bytes, largestBatch), &space)
            guard let error = failure else { continue }
            if case .full(_, let bytes, let limit) = error { return .full(log, bytes: bytes, limit: limit) }
            return error
        }
        return nil
    }

    /// What a batch of the longest event takes, bytes.
    private var largestBatch: Int {
        BatchHeader.size(
            context: QueueRoom.contextBytes, events: 1,
            records: RecordLayout.size(ofEvent: options.largestEventBytes), block: blockSize)
    }

    /// How a lane's newest commit failed, where it lacked room in a way that only the system knows of, as a quota.
    private func failureForRoom(of lane: LogName) -> QueueError? {
        guard failedLog.map({ self.lane(of: $0) == lane }) ?? false else { return nil }
        return commitFailure.flatMap { $0.isLackOfRoom ? $0 : nil }
    }

    /// Why a lane's log has no room for a batch of so many bytes; nil where it has, or others would make it.
    private func lack(of lane: LogName, for batch: Int, _ known: inout Space?) -> QueueError? {
        if let log = logs[lane], hasRoom(log, for: batch) { return nil }
        let needed = roundedUp(blockSize + batch, to: 4_096)
        do throws(QueueError) {
            let space = if let known { known } else { try space() }
            known = space
            if space.files < filesToOpen(lane) { return .noFiles }
            if canMakeRoom(for: needed, in: lane, space) || canEvict(for: needed, in: lane, space) { return nil }
            return shortage(of: lane, for: needed, in: space)
        } catch {
            return error
        }
    }
}

internal import Queue
internal import SystemdService

/// Notices, once each time, that the queue has passed half, 80 and 95 % of what it may come to.
struct FillLevel {
    private static let levels = [50, 80, 95]
    private var passed = 0

    /// The warning that a snapshot gives reason for, if any; a level is armed again 5 % below it.
    mutating func take(_ snapshot: QueueSnapshot) -> Notice? {
        guard snapshot.bound > 0 else { return nil }
        let percent = Int(snapshot.bytes * 100 / snapshot.bound)
        let reached = Self.levels.last { percent >= $0 } ?? 0
        if reached > passed {
            passed = reached
            let events = snapshot.logs.reduce(0) { $0 + $1.events }
            return .queueFilling(percent: reached, events: events, bytes: Int64(snapshot.bytes))
        }
        if percent < passed - 5 { passed = reached }
        return nil
    }

    /// Leaves out the level of `limit` of `maximum` bytes: that no more fits below it was told.
    mutating func refused(at limit: UInt64, of maximum: UInt64) {
        guard maximum > 0 else { return }
        passed = max(passed, Int((limit * 100 + maximum / 2) / maximum))
    }
}

internal import Bytes

/// What a person does about a queue that is full.
enum FullQueue {
    /// Nil where none but bulk events are refused.
    static func cure(_ status: StatusDocument) -> String? {
        guard status.refusedLanes.contains(where: { $0 != "bulk" }) else { return nil }
        let place = status.queueDirectory ?? "the queue's directory"
        let restart = "then: systemctl restart uplinkd"
        switch status.queueBound {
        case "file-system":
            let others = "free space on the file system of \(place), or see why events do not leave"
            guard status.keptFreeBytes > 0 else { return others }
            return others + "; or lower KeepFree=, which keeps \(Amount.bytes(status.keptFreeBytes)) free, " + restart
        case "files": return "remove files from the file system of \(place), which can have no more"
        case "quota": return "raise the quota that \(place) falls under, or free space in it"
        default:
            return "raise MaxSize=, which is \(Amount.bytes(status.queueLimitBytes)), \(restart); "
                + "or see why events do not leave"
        }
    }
}

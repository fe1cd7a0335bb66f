internal import Bytes
internal import Time

/// What in a status needs a person; being offline never does.
enum Attention {
    /// A hotspot shows wrong certificates until somebody has logged in.
    private static let patience = Duration.seconds(3_600)

    /// A sentence for each thing, as of `now`.
    static func reasons(_ status: StatusDocument, now: WallTime) -> [String] {
        var reasons: [String] = []
        if !storageIsWell(status) {
            let detail = status.storageDetail.map { ": \($0)" } ?? ""
            switch status.storageState {
            case "full":
                let lanes = status.refusedLanes.isEmpty ? "more" : status.refusedLanes.listed
                reasons.append("the queue takes no \(lanes) events" + detail)
            case "slow": reasons.append("the queue takes no events" + detail)
            default: reasons.append("storage is \(status.storageState)" + detail)
            }
        }
        for one in status.destinations {
            if one.flags.contains("held") {
                let detail = one.reasonDetail ?? one.lastError
                reasons.append("\(one.name) is held (\(one.reason))" + (detail.map { ": \($0)" } ?? ""))
            }
            if one.state == "unreachable", let since = one.certificateRefusedSince {
                let span = since.duration(to: now)
                if span >= patience {
                    reasons.append(
                        "\(one.name): its certificate has been refused for \(Quantity.duration(span))"
                            + (one.lastError.map { ": \($0)" } ?? ""))
                }
            }
            if let fault = one.fileFault { reasons.append("\(one.name): \(fault)") }
            if one.flags.contains("removed"), let queued = one.ledger["queued"], queued > 0 {
                reasons.append(
                    "\(one.name) is no longer configured, and \(Quantity.count(queued)) "
                        + "\(queued == 1 ? "event is" : "events are") kept for it: put its section back, or uplinkctl "
                        + "destination forget \(one.name), or uplinkctl destination rename \(one.name) NEW")
            }
            let dead = one.ledger["dead"] ?? 0
            if dead > 0 {
                reasons.append("\(one.name) has \(Quantity.count(dead)) dead \(dead == 1 ? "letter" : "letters")")
            }
        }
        if let detail = status.consentDetail { reasons.append("consent: \(detail)") }
        return reasons
    }

    /// False where the disk takes no more; a slow one does until the daemon is tired of waiting.
    static func storageIsWell(_ status: StatusDocument) -> Bool {
        status.storageState == "ok" || (status.storageState == "slow" && status.isReady)
    }
}

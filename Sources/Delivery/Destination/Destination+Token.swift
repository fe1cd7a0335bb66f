internal import Reachability
internal import Time

/// A token that is refused is read anew, for it may have been changed meanwhile.
extension Destination {
    /// How long the reading may take, before the request is tried again as it was.
    private static let patience = Duration.seconds(10)

    mutating func unauthorised(
        _ answer: TransportAnswer, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        let isFirst = wait?.cause != .reauthorising
        guard settings.token != nil, isFirst else { return hold(answer, .unauthorized, at: now, &effects) }
        effects.append(.readToken)
        guard wait?.cause != .held(.unauthorized) else { return hold(answer, .unauthorized, at: now, &effects) }
        record(answer, at: now)
        prove(answer, &effects)
        begin(Wait(cause: .reauthorising, until: now + Self.patience), at: now, &effects)
    }

    mutating func tookToken(_ token: [UInt8]?, at now: Instant) {
        let isNew = token != nil && token != settings.token
        if isNew {
            settings.token = token
            requests = RequestBuilding(settings, userAgent: userAgent)
        }
        guard let wait, wait.cause == .reauthorising || isNew && wait.cause == .held(.unauthorized) else { return }
        self.wait?.until = min(wait.until, now)
    }
}

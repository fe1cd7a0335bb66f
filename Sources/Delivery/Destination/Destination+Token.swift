internal import Reachability
internal import Time

/// A token that is refused is read anew, for it may have been changed meanwhile; without one that it needs, nothing is
/// sent.
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

    mutating func tookToken(_ token: [UInt8]?, fault: String?, at now: Instant) {
        if let fault, settings.tokenFault != nil { lack(fault, at: now) }
        let isNew = token.map { $0 != settings.token && $0.allSatisfy(DestinationSettings.isOfToken) } ?? false
        if isNew {
            settings.token = token
            settings.tokenFault = nil
            requests = RequestBuilding(settings, userAgent: userAgent)
        }
        guard let wait, wait.cause == .reauthorising || isNew && wait.cause == .held(.unauthorized) else { return }
        self.wait?.until = min(wait.until, now)
    }

    /// Holds everything while the token is not known, which is read anew whenever the hold is over.
    mutating func awaitToken(at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard let fault = settings.tokenFault, wait.map({ $0.until <= now }) ?? true else { return }
        if wait != nil { effects.append(.readToken) }
        lack(fault, at: now)
        hold(.unauthorized, at: now, &effects)
    }

    private mutating func lack(_ fault: String, at now: Instant) {
        settings.tokenFault = fault
        status.lastError = DestinationStatus.LastError(status: nil, detail: fault, location: nil, at: now)
    }
}

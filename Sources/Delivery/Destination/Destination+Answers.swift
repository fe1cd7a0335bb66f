internal import Bytes
internal import Gates
internal import Reachability
internal import Time

extension Destination {
    mutating func answered(
        _ request: UInt64, _ outcome: TransportOutcome, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        learnOfCertificate(outcome, at: now)
        if request == probe {
            probe = nil
            probeEnded(outcome, at: now, &effects)
        } else if let place = places.firstIndex(where: { $0.request == request }) {
            places[place].request = nil
            switch outcome {
            case .answer(let answer): batchAnswered(answer, of: request, place, at: now, &effects)
            case .failed(let failure): batchFailed(failure, place, at: now, &effects)
            }
        }
        if check == .riding(request) { endCheck(&effects) }
    }

    /// An answer shows that the certificate is trusted, unless it is a proxy's; another failure shows nothing.
    private mutating func learnOfCertificate(_ outcome: TransportOutcome, at now: Instant) {
        switch outcome {
        case .answer(let answer): if answer.status != 407 { status.certificateRefusedSince = nil }
        case .failed(let failure):
            guard failure.isCertificateRefused else { return }
            status.certificateRefusedSince = status.certificateRefusedSince ?? now
        }
    }

    private mutating func probeEnded(
        _ outcome: TransportOutcome, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        switch outcome {
        case .failed(let failure): noAnswer(failure.reason, failure.detail, at: now, &effects)
        case .answer(let answer):
            guard requests.isFromDestination(answer) else { return portal(answer, at: now, &effects) }
            let refusal = AnswerTable.refusal(ofCheck: answer.status, isVerifiedPeer: answer.isVerifiedPeer)
            guard let refusal else { return prove(answer, &effects) }
            record(answer, at: now)
            noAnswer(refusal, "the check was answered with \(answer.status)", at: now, &effects, isRecorded: true)
        }
    }

    private mutating func batchFailed(
        _ failure: TransportFailure, _ place: Int, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        setBack(place)
        if !failure.reason.isBeforeSending {
            places[place].batch?.mayBeKnown = true
        } else if let batch = places[place].batch, batch.hasUnmarked, !batch.mayBeKnown {
            // The destination has not seen its id: its events can still be marked.
            places[place].batch = nil
        }
        noAnswer(failure.reason, failure.detail, at: now, &effects)
    }

    private mutating func batchAnswered(
        _ answer: TransportAnswer, of request: UInt64, _ place: Int, at now: Instant,
        _ effects: inout [DeliveryEffect]
    ) {
        let isOurs = requests.isFromDestination(answer)
        let isRefusal = (200...299).contains(answer.status) && settings.format.layout.isRefusal(answer)
        let verdict = AnswerTable.verdict(status: isRefusal ? 400 : answer.status, isFromDestination: isOurs)
        switch verdict {
        case .delivered, .bisect, .halve: break
        default: setBack(place)
        }
        places[place].batch?.mayBeKnown = true
        switch verdict {
        case .portal: portal(answer, at: now, &effects)
        case .connectivity(let reason):
            record(answer, at: now)
            noAnswer(reason, "the answer was \(answer.status)", at: now, &effects, isRecorded: true)
        case .delivered:
            prove(answer, &effects)
            acknowledged(place, at: now, &effects)
        case .wait, .again:
            prove(answer, &effects)
            throttle(answer, at: now, &effects)
        case .bisect:
            pace.refused(request)
            refused(answer, place, at: now, &effects)
        case .halve:
            pace.refused(request)
            tooLong(answer, place, at: now, &effects)
        case .reauthorise: unauthorised(answer, at: now, &effects)
        case .hold(let reason): hold(answer, reason, at: now, &effects)
        }
    }

    /// Tells reachability of a proof that is news to it.
    mutating func prove(_ answer: TransportAnswer, _ effects: inout [DeliveryEffect]) {
        guard permission != .proved || check != .none || answer.peer != peer else { return }
        peer = answer.peer
        effects.append(.proved(by: answer.peer))
    }

    private mutating func acknowledged(_ place: Int, at now: Instant, _ effects: inout [DeliveryEffect]) {
        if places[place].aside != nil {
            buryAside(place, &effects)
        } else {
            let batch = settle(place, at: now, &effects)
            countUndurable(batch, at: now, &effects)
        }
        status.lastSuccess = now
        status.attempts = 0
        backOff.reset()
        holds.reset()
        refusedInRow = 0
        sizeLimit.taken(of: fullBytes)
        compression.taken()
        endWait(at: now, &effects)
        if permission != .none, isFailing {
            isFailing = false
            updateConnectivityGate(at: now, &effects)
        }
        switch stage {
        case .first: firstAcknowledged(at: now)
        case .second: stage = .open
        case .open, .firstDone, .spread: break
        }
    }

    /// The destination takes requests again.
    mutating func endWait(at now: Instant, _ effects: inout [DeliveryEffect]) {
        guard let ended = wait.take() else { return }
        if case .held = ended.cause { effects.append(.notice(.released)) }
        set(.destination, closed: false, at: now, &effects)
        beginRun(at: now)
    }

    private mutating func throttle(
        _ answer: TransportAnswer, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        record(answer, at: now)
        let asked = RetryAfter.wait(in: answer.headers)
        let until = now + (asked.map { random.duration(in: RetryAfter.kept($0)) } ?? backOff.next(&random))
        if wait?.cause != .throttled { effects.append(.notice(.throttled(status: answer.status, until: until))) }
        begin(Wait(cause: .throttled, until: until, asked: asked), at: now, &effects)
    }

    mutating func hold(
        _ answer: TransportAnswer, _ reason: StateReason, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        record(answer, at: now)
        if reason == .proxy {
            if check != .none {
                effects.append(.failed(.proxy, detail: "the proxy answered with \(answer.status)"))
            }
        } else {
            prove(answer, &effects)
        }
        hold(reason, at: now, &effects)
    }

    /// A person is needed, for what `status.lastError` says.
    mutating func hold(_ reason: StateReason, at now: Instant, _ effects: inout [DeliveryEffect]) {
        if wait?.cause != .held(reason), let error = status.lastError {
            effects.append(
                .notice(.held(reason, status: error.status, detail: error.detail, location: error.location)))
        }
        begin(Wait(cause: .held(reason), until: now + holds.next(&random)), at: now, &effects)
    }

    mutating func begin(_ wait: Wait, at now: Instant, _ effects: inout [DeliveryEffect]) {
        self.wait = wait
        run = nil
        set(.destination, closed: true, at: now, &effects)
        markAll(.destination)
        reform()
    }

    private mutating func portal(
        _ answer: TransportAnswer, at now: Instant, _ effects: inout [DeliveryEffect]
    ) {
        record(answer, at: now)
        unanswered(at: now, &effects)
        effects.append(.portal(detail: "an answer \(answer.status) without the expected field"))
    }

    /// No answer, or one that counts as none.
    private mutating func noAnswer(
        _ reason: StateReason, _ detail: String, at now: Instant, _ effects: inout [DeliveryEffect],
        isRecorded: Bool = false
    ) {
        if !isRecorded {
            status.lastError = DestinationStatus.LastError(
                status: nil, detail: String(detail.prefix(2_048)), location: nil, at: now)
        }
        unanswered(at: now, &effects)
        effects.append(.failed(reason, detail: detail))
    }

    /// Sending stops until reachability, or with checks turned off the back-off, allows it again.
    private mutating func unanswered(at now: Instant, _ effects: inout [DeliveryEffect]) {
        isFailing = true
        run = nil
        stage = .first
        spreadEnd = nil
        permission = permission != .none && checksAreOff ? .unproved : .none
        if permission == .unproved {
            let until = now + backOff.next(&random)
            var extended = wait ?? Wait(cause: .unanswered, until: until)
            extended.until = max(extended.until, until)
            wait = extended
        }
        updateConnectivityGate(at: now, &effects)
        markAll(.connectivity)
        reform()
    }

    private var proxyWish: String {
        settings.proxy?.user == nil
            ? "the proxy wants a user and a password" : "the proxy refuses the user and the password"
    }

    mutating func record(_ answer: TransportAnswer, at now: Instant) {
        let body = requests.secrets.hidden(in: Array(answer.body.prefix(2_048))).text
        let location = answer.headers.first(named: "Location").map { Array($0.utf8.prefix(2_048)) }
        status.lastError = DestinationStatus.LastError(
            status: answer.status, detail: body.isEmpty && answer.status == 407 ? proxyWish : body,
            location: location.map { requests.secrets.hidden(in: $0).text }, at: now)
    }
}

extension StateReason {
    /// A failure of that kind comes before any byte of a request is sent.
    fileprivate var isBeforeSending: Bool {
        switch self {
        case .refused, .dns, .tls, .noRoute, .link, .blackhole, .prohibited, .address, .proxy: true
        default: false
        }
    }
}

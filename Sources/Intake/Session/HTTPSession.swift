internal import Bytes
internal import HTTP1
internal import Queue

/// A connection that posts by HTTP/1.1; pure.
///
/// Requests may be pipelined: up to `HTTPAnswers.limit` wait for their commit, and are answered in order.
package struct HTTPSession {
    private var parser = RequestHeadParser()
    private var answers = HTTPAnswers()
    private var request: EventRequest?
    private var ends = false
    /// How far a request has come.
    private enum Progress {
        case done
        case needsInput
        /// Its events, or some of them, wait for their commit in another request.
        case repeatWaits
    }

    /// Heads taken so far.
    package private(set) var requests: UInt64 = 0

    /// A session at the first byte of a connection.
    package init() {}

    /// All answers were given and the connection is to be closed once they are sent.
    package var isFinished: Bool { ends && answers.isEmpty }

    /// Requests wait for a commit.
    package var isWaiting: Bool { !answers.isEmpty }

    /// The head of a request was taken, and its body not yet.
    package var isInBody: Bool { request != nil }

    /// Bytes held for a body that is not complete.
    package var heldBytes: Int { request?.body.count ?? 0 }

    /// Takes what it can of the input; how many bytes it took, and why no more.
    ///
    /// What was not taken is given again, with more behind it or without.
    package mutating func receive(
        _ input: Span<UInt8>, hasEnded: Bool, _ turn: inout SessionTurn
    ) -> (taken: Int, pause: SessionPause) {
        var at = 0
        while !ends {
            if let pause = turn.pause(answersFull: answers.isFull) { return (at, pause) }
            switch request == nil ? takeHead(input, &at, &turn) : takeBody(input, &at, &turn) {
            case .done: continue
            case .repeatWaits: return (at, .repeatWaits)
            case .needsInput:
                guard hasEnded else { return (at, .needsInput) }
                endEarly(input, at, &turn)
            }
        }
        return (input.count, .needsInput)
    }

    /// Writes what a commit has settled.
    package mutating func settle(_ settlement: Settlement, _ turn: inout SessionTurn) {
        let counts = answers.settle(settlement, to: &turn.output)
        turn.accepted += counts.accepted
        turn.duplicates += counts.duplicates
        turn.refused += counts.refused
    }

    /// Takes no more requests; one that is half taken is refused with the reason.
    package mutating func stop(_ refusal: Refusal, isInHead: Bool, _ turn: inout SessionTurn) {
        guard !ends else { return }
        if isInHead || request != nil { refuse(Problems.refused(refusal), keepsAlive: false, &turn) }
        request = nil
        ends = true
    }

    /// Ends a connection whose request has taken too long.
    package mutating func expire(_ turn: inout SessionTurn) {
        guard !ends else { return }
        request = nil
        refuse(Problems.tooSlow(), keepsAlive: false, &turn)
    }

    private mutating func takeHead(_ input: Span<UInt8>, _ at: inout Int, _ turn: inout SessionTurn) -> Progress {
        while at < input.count, input[at] == 0x0D || input[at] == 0x0A { at += 1 }
        do throws(HTTPError) {
            guard let (head, count) = try parser.parse(input, from: at) else { return .needsInput }
            at += count
            requests += 1
            route(head, bodyHasBegun: at < input.count, &turn)
        } catch {
            refuse(ProblemDetails(asMeant(error, input, at)).response(), keepsAlive: false, &turn)
        }
        return .done
    }

    /// What is wrong, for somebody who posts lines and knows of no HTTP as well.
    private func asMeant(_ error: HTTPError, _ input: Span<UInt8>, _ start: Int) -> HTTPError {
        guard case .malformed = error, requests == 0, start < input.count else { return error }
        let end = input.firstIndex(of: 0x0A, from: start) ?? input.count
        var line: [UInt8] = []
        line.append(contentsOf: input.extracting(start..<end))
        guard !line.holds(" HTTP/".utf8) else { return error }
        return .malformed("the first line is neither a JSON object, as each line of events is, nor HTTP/1.1")
    }

    private mutating func route(_ head: RequestHead, bodyHasBegun: Bool, _ turn: inout SessionTurn) {
        let hasBody = head.framing != .none && head.framing != .length(0)
        let keepsAlive = head.keepsAlive && !hasBody
        switch head.path {
        case "/v1/events":
            guard head.method == "POST" else {
                return refuse(Problems.methodNotAllowed("POST"), keepsAlive: keepsAlive, &turn)
            }
            switch EventRequest.make(head, turn) {
            case .refused(let response): refuse(response, keepsAlive: keepsAlive, &turn)
            case .taken(let taken):
                request = taken
                guard head.expectsContinue, hasBody, !bodyHasBegun else { return }
                var interim: [UInt8] = []
                ResponseWriter.appendContinue(to: &interim)
                answers.add(ready: interim, to: &turn.output)
            }
        case "/livez", "/readyz":
            guard head.method == "GET" || head.method == "HEAD" else {
                return refuse(Problems.methodNotAllowed("GET, HEAD"), keepsAlive: keepsAlive, &turn)
            }
            let refusal = head.path == "/readyz" ? turn.admission.unreadiness : nil
            let response = refusal.map(Problems.refused) ?? Response.json(200, Array("{\"status\":\"ok\"}\n".utf8))
            answer(response, keepsAlive: keepsAlive, withoutBody: head.method == "HEAD", &turn)
        default:
            refuse(Problems.notFound(), keepsAlive: keepsAlive, &turn)
        }
    }

    private mutating func takeBody(_ input: Span<UInt8>, _ at: inout Int, _ turn: inout SessionTurn) -> Progress {
        guard var request = request.take() else { return .done }
        do throws(HTTPError) {
            if let whole = request.wholeBody(in: input, at) {
                let isTaken = finish(request, input.extracting(whole), &turn)
                if isTaken { at = whole.upperBound } else { self.request = request }
                return isTaken ? .done : .repeatWaits
            }
            if !request.isComplete { at += try request.collect(input, from: at) }
        } catch {
            let response =
                error == .bodyTooLarge ? Problems.requestTooLarge(turn.limits) : ProblemDetails(error).response()
            refuse(response, keepsAlive: false, &turn)
            return .done
        }
        let isTaken = request.isComplete && finish(request, request.body.span, &turn)
        if !isTaken { self.request = request }
        return isTaken ? .done : request.isComplete ? .repeatWaits : .needsInput
    }

    /// Checks a whole body and takes all its events, or none; false where some of them are to be looked at again after
    /// the next commit.
    private mutating func finish(_ request: EventRequest, _ body: Span<UInt8>, _ turn: inout SessionTurn) -> Bool {
        let finder = EventBody(
            form: request.form, maximumEventBytes: turn.limits.maximumEventBytes,
            maximumEvents: turn.limits.maximumRequestEvents)
        defer { turn.events.removeAll(keepingCapacity: turn.events.capacity <= 4_096) }
        do throws(BodyError) {
            try finder.find(in: body, &turn.events)
        } catch {
            refuse(Problems.body(error, turn.limits), keepsAlive: request.keepsAlive, &turn)
            return true
        }
        let keys = turn.keys(of: request, body)
        for key in keys {
            switch turn.admission.recent.familiarity(key) {
            case .new, .isDurable: continue
            case .waits: return false
            case .differs:
                guard turn.events[0].identity == nil else { continue }
                refuse(
                    Problems.idempotencyKey("another request had this Idempotency-Key"),
                    keepsAlive: request.keepsAlive, &turn)
                return true
            }
        }
        if let refusal = refusal(of: request, turn) {
            refuse(refusal, keepsAlive: request.keepsAlive, &turn)
        } else {
            take(request, body, keys, &turn)
        }
        return true
    }

    /// Why the events found in a request cannot be taken; nil where they can.
    private func refusal(of request: EventRequest, _ turn: SessionTurn) -> Response? {
        let log = request.parameters.log
        let records = turn.events.reduce(0) { $0 + RecordLayout.size(ofEvent: $1.range.count) }
        guard turn.limits.queueRoom.holds(events: turn.events.count, records: records, in: log) else {
            return Problems.largerThanQueue(turn.limits, log)
        }
        return turn.admission.refusal(for: log).map(Problems.refused)
    }

    /// Takes the events found in a request, but for those that were taken before; `keys` are theirs, or none.
    private mutating func take(
        _ request: EventRequest, _ body: Span<UInt8>, _ keys: [DuplicateKey], _ turn: inout SessionTurn
    ) {
        var ends: (first: Position, last: Position)?
        var duplicates = 0
        for index in turn.events.indices {
            let key = keys.isEmpty ? .none : keys[index]
            let isRepeat =
                switch turn.admission.recent.familiarity(key) {
                case .isDurable, .waits: true
                case .new, .differs: false
                }
            if isRepeat {
                duplicates += 1
                continue
            }
            let position = turn.admission.append(
                body.extracting(turn.events[index].range), to: request.parameters.log, acceptedAt: turn.acceptedAt,
                timeToLiveSeconds: request.parameters.timeToLiveSeconds, key: key)
            ends = (ends?.first ?? position, position)
        }
        self.ends = self.ends || !request.keepsAlive
        guard let ends else {
            turn.duplicates += UInt64(duplicates)
            var bytes: [UInt8] = []
            HTTPAnswers.appendNothing(duplicates: duplicates, keepsAlive: request.keepsAlive, to: &bytes)
            return answers.add(ready: bytes, to: &turn.output)
        }
        answers.add(
            HTTPAnswers.Taken(
                first: ends.first, last: ends.last, count: turn.events.count - duplicates, duplicates: duplicates,
                keepsAlive: request.keepsAlive))
    }

    /// The client's stream ended; a request that it began is malformed.
    private mutating func endEarly(_ input: Span<UInt8>, _ at: Int, _ turn: inout SessionTurn) {
        if at < input.count || request != nil {
            request = nil
            let error = asMeant(.malformed("the request ends too early"), input, at)
            refuse(ProblemDetails(error).response(), keepsAlive: false, &turn)
        }
        ends = true
    }

    private mutating func refuse(_ response: Response, keepsAlive: Bool, _ turn: inout SessionTurn) {
        turn.refused += 1
        answer(response, keepsAlive: keepsAlive, withoutBody: false, &turn)
    }

    private mutating func answer(
        _ response: Response, keepsAlive: Bool, withoutBody: Bool, _ turn: inout SessionTurn
    ) {
        var bytes: [UInt8] = []
        response.append(to: &bytes, keepsAlive: keepsAlive, withoutBody: withoutBody)
        answers.add(ready: bytes, to: &turn.output)
        if !keepsAlive { ends = true }
    }
}

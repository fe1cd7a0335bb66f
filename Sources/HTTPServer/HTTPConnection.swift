internal import Bytes
internal import HTTP1
internal import Reactor
internal import Time

/// One client of a server.
final class HTTPConnection: StreamConnectionDelegate {
    private enum State {
        case reading
        /// The handler has the request.
        case answering
        /// The answer waits for the peer; the next request waits for it.
        case draining
        /// The answer has no end.
        case streaming
        case closing
    }

    /// The most that may wait for a client that is slow to take a stream.
    private static let streamLimit = 262_144

    let stream: StreamConnection
    private unowned let server: HTTPServer
    private var reader: RequestReader
    private var state = State.reading
    private var isServing = false
    private var exchange: HTTPExchange?
    private var timer: TimerToken?
    /// The timer that runs is that of a request half received.
    private var isTimingRequest = false
    private var isLastRequest = false
    /// Since when it has neither a request, whole or in part, nor an answer to take.
    private(set) var idleSince: Instant?

    init(_ stream: StreamConnection, server: HTTPServer) {
        self.stream = stream
        self.server = server
        reader = RequestReader(bodyLimit: server.limits.bodyBytes)
        stream.delegate = self
        idleSince = server.loop.now
        wait(server.limits.idleTime)
    }

    func received(on connection: StreamConnection) {
        if state == .streaming { connection.consumeInput(connection.inputCount) }
        serve()
    }

    func inputEnded(on connection: StreamConnection) {
        isLastRequest = true
        if state == .reading || state == .streaming { close() }
    }

    func outputDrained(on connection: StreamConnection) {
        if state == .draining { proceed() }
    }

    func closed(_ connection: StreamConnection) {
        cancelTimer()
        state = .closing
        exchange = nil
        server.forget(stream.number)
    }

    /// Closes once the answer in hand is sent.
    func finish() {
        isLastRequest = true
        if state == .reading || state == .streaming { close() }
    }

    /// Closes one that idles, without a word.
    func closeIdle() { stream.close() }

    /// Takes requests off the input until one waits for its answer, or more input is needed.
    private func serve() {
        guard !isServing else { return }
        isServing = true
        defer { isServing = false }
        while state == .reading {
            do throws(HTTPError) {
                switch try next() {
                case .incomplete: return timeRequest()
                case .continueExpected:
                    var bytes: [UInt8] = []
                    ResponseWriter.appendContinue(to: &bytes)
                    stream.write(bytes)
                case .request(let head, let body): begin(head, body)
                }
            } catch {
                return refuse(ProblemDetails(error))
            }
        }
    }

    private func next() throws(HTTPError) -> RequestReader.Outcome {
        let input = stream.input
        let (taken, outcome) = try reader.next(input.span, from: stream.inputStart)
        stream.consumeInput(taken)
        return outcome
    }

    private func timeRequest() {
        let isHalfReceived = !reader.isBetweenRequests || stream.inputCount > 0
        if isHalfReceived, isTimingRequest { return }
        idleSince = isHalfReceived ? nil : server.loop.now
        wait(isHalfReceived ? server.limits.requestTime : server.limits.idleTime)
        isTimingRequest = isHalfReceived
    }

    private func begin(_ head: RequestHead, _ body: [UInt8]) {
        state = .answering
        idleSince = nil
        stream.isReadingPaused = true
        wait(server.limits.answerTime)
        if !head.keepsAlive { isLastRequest = true }
        let exchange = HTTPExchange(
            head: head, body: body, begin: { [weak self] type in self?.beginStream(type) },
            { [weak self] response in self?.send(response, withoutBody: head.method == "HEAD") })
        self.exchange = exchange
        server.handle(exchange)
    }

    private func send(_ response: Response, withoutBody: Bool) {
        guard state == .answering else { return }
        exchange = nil
        var bytes: [UInt8] = []
        response.append(to: &bytes, keepsAlive: !isLastRequest, withoutBody: withoutBody)
        stream.write(bytes)
        guard !isLastRequest else { return close() }
        state = .draining
        wait(server.limits.drainTime)
        if stream.outputCount == 0 { proceed() }
    }

    var isStreaming: Bool { state == .streaming }

    private func beginStream(_ contentType: String) -> HTTPStream? {
        guard state == .answering else { return nil }
        exchange = nil
        cancelTimer()
        state = .streaming
        var bytes: [UInt8] = []
        ResponseWriter.appendHead(
            status: 200, contentType: contentType, framing: .untilClose, keepsAlive: false, to: &bytes)
        stream.write(bytes)
        // What it sends from now on means nothing, but its end does.
        stream.isReadingPaused = false
        return HTTPStream(self)
    }

    func stream(_ bytes: [UInt8]) {
        guard state == .streaming else { return }
        guard stream.outputCount + bytes.count <= Self.streamLimit else { return stream.close() }
        stream.write(bytes)
    }

    /// Goes on to the next request.
    private func proceed() {
        guard stream.isOpen else { return }
        guard !isLastRequest else { return close() }
        state = .reading
        stream.isReadingPaused = false
        serve()
    }

    private func refuse(_ problem: ProblemDetails) {
        var bytes: [UInt8] = []
        problem.response().append(to: &bytes, keepsAlive: false)
        stream.write(bytes)
        close()
    }

    /// Closes when the output has gone, and at the latest after the time for taking an answer.
    private func close() {
        guard stream.isOpen else { return }
        state = .closing
        idleSince = nil
        wait(server.limits.drainTime)
        stream.closeAfterFlush()
    }

    private func wait(_ span: Duration) {
        cancelTimer()
        isTimingRequest = false
        timer = server.loop.schedule(at: server.loop.now + span) { [weak self] in self?.expire() }
    }

    private func cancelTimer() {
        if let timer { server.loop.cancel(timer) }
        timer = nil
    }

    private func expire() {
        timer = nil
        switch state {
        case .reading where isTimingRequest:
            refuse(
                ProblemDetails(
                    status: 408, type: "slow-client", title: "The client was too slow",
                    detail: "the request was not whole after \(server.limits.requestTime)"))
        case .answering:
            isLastRequest = true
            let problem = ProblemDetails(
                status: 503, type: "no-answer-yet", title: "The answer takes too long",
                detail: "there was no answer after \(server.limits.answerTime); the work goes on")
            exchange?.answer(problem.response())
        case .reading, .draining, .streaming, .closing: stream.close()
        }
    }
}

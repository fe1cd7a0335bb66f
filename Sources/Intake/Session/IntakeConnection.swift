internal import Bytes
internal import HTTP1
internal import Reactor
internal import Time

/// One client: its socket, and its session once the first byte has told which kind it is.
final class IntakeConnection {
    private enum Phase: Equatable {
        /// The first byte has not come.
        case silent
        case http
        case lines
        /// It is refused: its first byte only tells how to say so.
        case turnedAway(ofUser: Bool)
        /// The last answer is on its way; input is dropped.
        case ending
    }

    let user: UInt32
    let stream: StreamConnection
    /// It counts among the connections that are served.
    let isServed: Bool
    /// When it is ended for its silence or slowness.
    private(set) var deadline = Instant.distantFuture
    /// The newest commit that the server wakes it for.
    var waitsFor: UInt64 = 0
    /// It waits for its turn to be served.
    var isQueued = false
    /// Why its session took no more when it last worked.
    private var pause = SessionPause.needsInput

    private unowned let server: IntakeServer
    private var phase: Phase
    private var http = HTTPSession()
    private var lines: LineSession
    /// What the deadline was last set for.
    private var timed: (requests: UInt64, isInBody: Bool)?

    /// A connection that was just accepted; `turnedAway` tells whether it is one too many, of its user or of all.
    init(_ stream: StreamConnection, user: UInt32, server: IntakeServer, turnedAway: Bool?) {
        self.stream = stream
        self.user = user
        self.server = server
        isServed = turnedAway == nil
        lines = LineSession(limits: server.limits)
        phase = turnedAway.map { .turnedAway(ofUser: $0) } ?? .silent
        setDeadline(turnedAway == nil ? server.limits.idleTimeout : server.limits.lingerTimeout)
    }

    /// Reads and works; true where there may be more to read.
    func serve() -> Bool {
        var mayHaveMore = false
        if pause == .needsInput {
            stream.isReadingPaused = false
            let before = stream.inputCount
            stream.readAtOnce()
            mayHaveMore = stream.inputCount - before == stream.readLimit
        }
        server.work(self)
        return mayHaveMore && stream.isOpen && !stream.isReadingPaused
    }

    /// Has the loop not look at it while it waits to be served.
    func holdBack() { stream.isReadingPaused = true }

    /// Takes what it can of the input, sends what there is to say, and sees to pauses and the end.
    func work() {
        guard stream.isOpen else { return }
        if phase == .silent { begin() }
        switch phase {
        case .http: pause = receiveHTTP()
        case .lines: pause = receiveLines()
        case .turnedAway(let ofUser): return turnAway(ofUser: ofUser)
        case .silent: return stream.hasInputEnded ? stream.close() : ()
        case .ending: return drop()
        }
        send()
        server.hold(stream.inputCount + http.heldBytes, by: self)
        guard stream.isOpen, phase != .ending else { return }
        if isFinished { return end() }
        if isWaiting { server.wakeAtCommit(self) }
        if pause == .admissionFull { server.queue(self) }
        if pause == .outputFull, stream.outputCount == 0 {
            // Others first.
            server.queue(self)
            server.serveSoon()
        }
        if pause == .repeatWaits { server.wakeWhenSettled(self) }
        stream.isReadingPaused = pause != .needsInput
        setDeadline()
    }

    /// Learns what became of a commit; `work` is called after it.
    func settle(_ settlement: Settlement) {
        switch phase {
        case .http: http.settle(settlement, &server.turn)
        case .lines: lines.settle(settlement, &server.turn)
        case .silent, .turnedAway, .ending: return
        }
        send()
    }

    /// Takes what its client has sent already, and no more; ends once that is answered.
    func stop(_ refusal: Refusal) {
        stream.readAtOnce()
        server.work(self)
        guard stream.isOpen else { return }
        switch phase {
        case .http: http.stop(refusal, isInHead: stream.inputCount > 0, &server.turn)
        case .lines: lines.stop(refusal, &server.turn)
        case .silent, .turnedAway, .ending: return end()
        }
        send()
        work()
    }

    /// Ends it where its deadline has passed.
    func expire() {
        switch phase {
        case .http where timed != nil: http.expire(&server.turn)
        case .lines where stream.inputCount > 0: lines.expire(&server.turn)
        default: return stream.close()
        }
        send()
        work()
    }

    /// Refuses its unfinished request, to make room for others.
    func giveUp() {
        if phase == .http {
            http.stop(.busy, isInHead: true, &server.turn)
        } else {
            lines.stop(.busy, &server.turn)
        }
        send()
        work()
    }

    private func begin() {
        guard stream.inputCount > 0 else { return }
        switch stream.input[stream.inputStart] {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): phase = .http
        default: phase = .lines
        }
    }

    private func receiveHTTP() -> SessionPause {
        var pause = SessionPause.needsInput
        server.turn.user = user
        stream.takeInput { input in
            let (taken, why) = http.receive(input, hasEnded: stream.hasInputEnded, &server.turn)
            pause = why
            return taken
        }
        return pause
    }

    private func receiveLines() -> SessionPause {
        var pause = SessionPause.needsInput
        stream.takeInput { input in
            let (taken, why) = lines.receive(input, hasEnded: stream.hasInputEnded, &server.turn)
            pause = why
            return taken
        }
        return pause
    }

    private var isWaiting: Bool { phase == .http ? http.isWaiting : phase == .lines && lines.isWaiting }

    private var isFinished: Bool { phase == .http ? http.isFinished : phase == .lines && lines.isFinished }

    private func send() {
        stream.write(server.turn.output)
        server.turn.output.removeAll(keepingCapacity: server.turn.output.capacity <= 4 * SessionTurn.outputBytes)
    }

    private func turnAway(ofUser: Bool) {
        guard stream.inputCount > 0 else { return stream.hasInputEnded ? stream.close() : () }
        begin()
        let detail = Problems.tooManyConnectionsDetail(ofUser: ofUser)
        if phase == .http {
            var output: [UInt8] = []
            Problems.tooManyConnections(ofUser: ofUser).append(to: &output, keepsAlive: false)
            stream.write(output)
        } else {
            let status = ofUser ? 429 : 503
            stream.write(
                LineError.bytes(
                    line: 1, status: status, detail: detail,
                    retryAfterSeconds: Problems.tooManyConnectionsRetryAfterSeconds))
        }
        end()
    }

    /// Half-closes after the last answer and reads on for a while: closed with unread input, a socket resets the
    /// client, who may then miss the answer.
    private func end() {
        phase = .ending
        pause = .needsInput
        http = HTTPSession()
        server.hold(0, by: self)
        stream.isReadingPaused = false
        if stream.hasInputEnded {
            // It had none while it waited for its commit.
            setDeadline(server.limits.idleTimeout)
            return stream.closeAfterFlush()
        }
        setDeadline(server.isStopping ? server.limits.stopLingerTimeout : server.limits.lingerTimeout)
        stream.endOutputAfterFlush()
        if stream.isOpen { drop() }
    }

    private func drop() {
        stream.consumeInput(stream.inputCount)
        if stream.hasInputEnded { stream.closeAfterFlush() }
    }

    private func setDeadline() {
        let limits = server.limits
        let waitsForCommit = pause == .admissionFull || pause == .answersFull || pause == .repeatWaits
        if waitsForCommit || isWaiting && stream.outputCount == 0 {
            timed = nil
            deadline = .distantFuture
        } else if phase == .http, http.isInBody || stream.inputCount > 0 {
            if let timed, timed == (http.requests, http.isInBody) { return }
            timed = (http.requests, http.isInBody)
            setDeadline(http.isInBody ? limits.bodyTimeout : limits.headTimeout)
        } else {
            timed = nil
            setDeadline(limits.idleTimeout)
        }
    }

    private func setDeadline(_ span: Duration) {
        deadline = server.now + span
        server.watch(deadline)
    }
}

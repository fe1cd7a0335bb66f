internal import CCurl
internal import Delivery
internal import Posix
internal import Reachability
internal import Reactor
internal import Time

/// The connections to one destination: a multi handle of its own, driven by the event loop.
///
/// libcurl's callbacks only note sockets and deadlines; it is never called from within one.
@safe
final class Pool {
    /// A turn of the loop that has lasted so long leaves the rest to the next.
    private static let turnLimit: Duration = .milliseconds(10)
    private static let idleHandleLimit = 3
    /// How long the kernel waits for the peer to acknowledge what was sent.
    static let userTimeoutMilliseconds: UInt32 = 20_000

    /// A transfer has ended; called outside of libcurl.
    var ended: ((Transfer, TransportOutcome) -> Void)?
    /// The pool has closed, because it idled or was retired; called outside of libcurl.
    var closed: (() -> Void)?

    let loop: EventLoop
    let tls: TLSContext?
    /// Connections are closed once no transfer has run for so long.
    let idleSpan: Duration
    private let multi: UnsafeMutableRawPointer
    var sockets: [Int32: WatchedSocket] = [:]
    private var running: [ObjectIdentifier: Transfer] = [:]
    private var idleHandles: [EasyHandle] = []
    private var timer: TimerToken?
    private var idleTimer: TimerToken?
    private var target: Target?
    private var lastUse: Instant
    private var isDelivering = false
    private var isRetired = false
    private(set) var isClosed = false

    /// A pool without connections; `watch` gets what their servers show.
    init(on loop: EventLoop, credentials: TLSCredentials?, watch: ServerWatch? = nil, idleSpan: Duration) {
        guard let multi = unsafe curl_multi_init() else { preconditionFailure("no memory") }
        unsafe self.multi = multi
        self.loop = loop
        self.idleSpan = idleSpan
        tls = credentials.map { TLSContext($0, watch: watch) }
        lastUse = loop.now
        let failed = unsafe ccurl_multi_set_callbacks(
            multi, noteSocket, noteTimer, Unmanaged.passUnretained(self).toOpaque())
        precondition(failed == CURLM_OK)
        // Of two requests on one connection the first to flood it, or to be cancelled, would take the other along.
        unsafe ccurl_multi_one_request_a_connection(multi)
    }

    deinit { precondition(isClosed, "a pool was dropped before it was closed") }

    /// True where no request is on its way.
    var isIdle: Bool { running.isEmpty }

    /// A handle for a new transfer.
    func makeHandle() -> EasyHandle {
        if let idle = idleHandles.popLast() { return idle }
        guard let new = EasyHandle() else { preconditionFailure("no memory") }
        return new
    }

    /// What libcurl is told of a request's URL; the last one is remembered, as most of a pool go to the same.
    func target(for request: OutgoingRequest) -> Target {
        if let target, target.url == request.url, target.proxy == request.proxy { return target }
        let new = Target(request.url, by: request.proxy)
        target = new
        return new
    }

    /// Starts a transfer whose options are set.
    func start(_ transfer: Transfer) {
        precondition(!isClosed && !isRetired)
        prepareSockets(of: transfer.easy)
        running[ObjectIdentifier(transfer)] = transfer
        let failed = unsafe curl_multi_add_handle(multi, transfer.easy.raw)
        precondition(failed == CURLM_OK)
    }

    /// Ends a transfer and closes its connection.
    func cancel(_ transfer: Transfer) {
        remove(transfer)
        if !isDelivering { rest() }
    }

    /// Takes no more transfers and closes once those in flight have ended.
    func retire() {
        isRetired = true
        if !isDelivering { rest() }
    }

    /// Ends all transfers without an outcome and closes all connections.
    func close() {
        guard !isClosed else { return }
        for transfer in running.values { remove(transfer) }
        idleHandles = []
        unsafe curl_multi_cleanup(multi)
        forgetAll()
        for timer in [timer, idleTimer] { timer.map(loop.cancel) }
        isClosed = true
        closed?()
    }

    /// A watched socket is ready.
    func socketReady(_ number: Int32, _ readiness: Readiness) {
        // Readiness is level-triggered: the next turn tells again.
        guard Clock.now - loop.now < Self.turnLimit else { return }
        var events: Int32 = 0
        if readiness.contains(.readable) { events |= CURL_CSELECT_IN }
        if readiness.contains(.writable) { events |= CURL_CSELECT_OUT }
        // On an error libcurl is to look itself, so that it learns the errno.
        if !readiness.isDisjoint(with: [.failed, .hungUp]) { events = CURL_CSELECT_IN | CURL_CSELECT_OUT }
        act(number, events)
        if let socket = sockets[number], let transfer = socket.transfer, socket.isFlooded { giveUp(transfer) }
    }

    /// Ends a transfer whose answer's framing has no end: of a chunk's extension libcurl tells nothing.
    private func giveUp(_ transfer: Transfer) {
        guard running[ObjectIdentifier(transfer)] != nil else { return }
        finish([(transfer, .failed(Self.tooLong("more than 1 MiB came")))])
    }

    private static func tooLong(_ what: String) -> TransportFailure {
        TransportFailure(reason: .reset, detail: "the answer is too long: \(what)")
    }

    /// libcurl wants to be called in so many milliseconds; negative: not at all.
    func setTimer(milliseconds: Int) {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard milliseconds >= 0 else { return }
        setTimer(at: milliseconds == 0 ? loop.now : Clock.now + .milliseconds(milliseconds))
    }

    private func setTimer(at deadline: Instant) {
        timer = loop.schedule(at: deadline) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        timer = nil
        // A timer that is due now would run in this turn still.
        guard Clock.now - loop.now < Self.turnLimit else { return setTimer(at: loop.now + .nanoseconds(1)) }
        act(CURL_SOCKET_TIMEOUT, 0)
    }

    private func act(_ socket: curl_socket_t, _ events: Int32) {
        var count: Int32 = 0
        tls?.allow(Transfer.callLimit)
        let failed = unsafe curl_multi_socket_action(multi, socket, events, &count)
        precondition(failed == CURLM_OK, "libcurl refused to act: \(failed.rawValue)")
        deliver()
    }

    /// Has libcurl look at all its transfers, and say which sockets are to be watched.
    func lookAtAll() {
        guard !isClosed, !running.isEmpty else { return }
        tls?.allow(Transfer.callLimit)
        let failed = unsafe ccurl_multi_look_at_all(multi)
        precondition(failed == CURLM_OK, "libcurl refused to look: \(failed.rawValue)")
        deliver()
    }

    private func deliver() {
        var outcomes: [(Transfer, TransportOutcome)] = []
        var code = CURLE_OK
        while let easy = unsafe ccurl_multi_next_ended(multi, &code) {
            guard let transfer = unsafe Transfer.attached(to: easy) else { continue }
            transfer.noteEnd()
            outcomes.append((transfer, outcome(of: transfer, code)))
        }
        if !outcomes.isEmpty { finish(outcomes) }
    }

    private func finish(_ outcomes: [(Transfer, TransportOutcome)]) {
        isDelivering = true
        for (transfer, _) in outcomes { remove(transfer) }
        for (transfer, outcome) in outcomes { ended?(transfer, outcome) }
        isDelivering = false
        rest()
    }

    private func outcome(of transfer: Transfer, _ code: CURLcode) -> TransportOutcome {
        if transfer.isHeadTooLong {
            return .failed(TransportFailure(reason: .reset, detail: "the answer's head passes 64 KiB"))
        }
        if code == CURLE_OK || transfer.isBodyTooLong {
            guard transfer.hasHead else {
                return .failed(TransportFailure(reason: .reset, detail: "the answer's head was cut short"))
            }
            return .answer(transfer.answer)
        }
        if tls?.isFlooded ?? false { return .failed(Self.tooLong("more than 256 KiB came at once")) }
        let problem = tls?.takeProblem()
        let end = TransferEnd(
            code: code, proxyStatus: transfer.easy.number(CURLINFO_HTTP_CONNECTCODE),
            systemError: Int32(truncatingIfNeeded: transfer.easy.number(CURLINFO_OS_ERRNO)),
            socketFailure: transfer.easy.socketFailure, text: transfer.easy.errorText,
            certificate: code == CURLE_PEER_FAILED_VERIFICATION ? problem : nil,
            verdict: transfer.easy.number(CURLINFO_SSL_VERIFYRESULT), isClockRight: Clock.isSynchronised)
        return end.outcome
    }

    private func remove(_ transfer: Transfer) {
        guard running.removeValue(forKey: ObjectIdentifier(transfer)) != nil else { return }
        let failed = unsafe curl_multi_remove_handle(multi, transfer.easy.raw)
        precondition(failed == CURLM_OK)
        transfer.easy.reset()
        if idleHandles.count < Self.idleHandleLimit { idleHandles.append(transfer.easy) }
        lastUse = loop.now
    }

    /// After a transfer: closes now if retired, else once the pool has idled.
    private func rest() {
        guard running.isEmpty, !isClosed else { return }
        guard !isRetired else { return close() }
        guard idleTimer == nil else { return }
        idleTimer = loop.schedule(at: lastUse + idleSpan) { [weak self] in self?.idleTimerFired() }
    }

    private func idleTimerFired() {
        idleTimer = nil
        guard running.isEmpty else { return }
        if loop.now - lastUse >= idleSpan { close() } else { rest() }
    }
}

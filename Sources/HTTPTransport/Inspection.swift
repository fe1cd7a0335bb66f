internal import Bytes
package import Delivery
internal import Reactor

/// How a request went that was looked at closely.
package struct InspectionResult: Sendable {
    package let outcome: TransportOutcome
    /// The first line of the answer, such as `HTTP/1.1 401 Unauthorized`; empty where none came.
    package let statusLine: String
    /// What a proxy said to CONNECT; nil where none was asked.
    package let proxyStatus: Int?
    /// What the server showed; nil without TLS, and where it came to none.
    package let server: ServerShown?
    package let times: TransferTimes

    package init(
        outcome: TransportOutcome, statusLine: String = "", proxyStatus: Int? = nil, server: ServerShown? = nil,
        times: TransferTimes = TransferTimes()
    ) {
        self.outcome = outcome
        self.statusLine = statusLine
        self.proxyStatus = proxyStatus
        self.server = server
        self.times = times
    }
}

/// When, counted from its start, the steps of a request were done; nil where it did not come to one.
package struct TransferTimes: Sendable {
    package var connected: Duration?
    /// TLS agreed.
    package var secured: Duration?
    package var firstByte: Duration?
    package var ended: Duration?

    package init() {}
}

/// One request on a connection of its own, with all that can be seen of it; delivery's connections are left alone.
package final class Inspection {
    private let pool: Pool
    private let watch: ServerWatch?
    private var ended: ((InspectionResult) -> Void)?

    /// Begins; `ended` is called once, in a later turn of the loop, unless `cancel` comes first.
    init(
        _ request: OutgoingRequest, to addresses: [IPAddress], on loop: EventLoop, credentials: TLSCredentials?,
        ended: @escaping (InspectionResult) -> Void
    ) {
        watch = request.url.scheme == .https ? ServerWatch(host: request.url.host) : nil
        pool = Pool(on: loop, credentials: credentials, watch: watch, idleSpan: .zero)
        self.ended = ended
        let transfer = Transfer(request, body: request.body, on: pool.makeHandle())
        transfer.setOptions(
            target: pool.target(for: request), addresses: addresses, isCompressed: false,
            tls: request.url.scheme == .https ? pool.tls : nil)
        var result: InspectionResult?
        pool.ended = { [unowned pool, watch] transfer, outcome in
            result = InspectionResult(
                outcome: outcome, statusLine: transfer.statusLine, proxyStatus: transfer.end?.proxyStatus,
                server: watch?.shown, times: transfer.end?.times ?? TransferTimes())
            pool.retire()
        }
        pool.closed = { [weak self] in
            let ended = self?.ended.take()
            if let result { ended?(result) }
        }
        pool.start(transfer)
    }

    deinit { pool.close() }

    /// Ends it without a result.
    package func cancel() {
        ended = nil
        pool.close()
    }
}

package import Bytes
package import Delivery
internal import Posix
internal import Reachability
package import Reactor
internal import Time

/// Carries requests over HTTP/1.1, or HTTP/2 where TLS agrees on it, with libcurl, on the event loop, without a thread
/// of its own.
///
/// Each destination has its own connections, each with one request at a time; after a request that got no answer the
/// next begins a new one. An answer whose body passes 64 KiB counts with its status, and its
/// connection is closed.
package final class CurlTransport: Transport {
    /// So many requests at once: two for each of 16 destinations, and two more.
    package static let transferLimit = 34
    /// What the connections to one destination take at most: two, and libcurl's own pair of sockets.
    package static let descriptorsADestination = 4

    private enum Stage {
        case failing
        case compressing
        case running(Transfer, Pool)
    }

    private let loop: EventLoop
    private let ended: (UInt64, TransportOutcome) -> Void
    private let idleSpan: Duration
    private let descriptorLimit: Int
    private let compressor: Compressor
    private var credentials: [String: TLSCredentials] = [:]
    /// Why there are none.
    private var faults: [String: String] = [:]
    private var pools: [String: Pool] = [:]
    private var retired: [ObjectIdentifier: Pool] = [:]
    private var stages: [UInt64: Stage] = [:]

    /// Gives each request's outcome to `ended`, never from within `send`; `Libcurl.start` came before.
    ///
    /// A destination's connections are closed once no request has been on its way for `idleSpan`. All of them take at
    /// most `descriptorLimit` descriptors; where that is too few for all, those of one that idles make room, and a
    /// request for which none does fails.
    package init(
        on loop: EventLoop, idleSpan: Duration = .seconds(30), descriptorLimit: Int = .max,
        ended: @escaping (_ request: UInt64, TransportOutcome) -> Void
    ) {
        self.loop = loop
        self.idleSpan = idleSpan
        self.descriptorLimit = max(descriptorLimit, Self.descriptorsADestination)
        self.ended = ended
        compressor = Compressor(on: loop)
    }

    deinit {
        for pool in pools.values { pool.close() }
        for pool in retired.values { pool.close() }
    }

    /// Requests that have not ended.
    package var transferCount: Int { stages.count }

    /// Has the next connections to a destination trust and show these certificates and no others; without, https fails.
    package func use(_ new: TLSCredentials, destination: String) {
        credentials[destination] = new
        dropConnections(destination: destination)
    }

    /// Has a destination's https fail, and says why, until `use`; what it was given before is trusted no more.
    package func lack(credentials fault: String, destination: String) {
        credentials[destination] = nil
        faults[destination] = fault
        dropConnections(destination: destination)
    }

    package func send(_ request: OutgoingRequest, addresses: [IPAddress]) {
        precondition(stages.count < Self.transferLimit, "too many requests at once")
        precondition(stages[request.id] == nil, "a request's id is in use")
        if request.url.scheme != .unix, addresses.isEmpty {
            let host = request.proxy?.host ?? request.url.host
            return fail(request, TransportFailure(reason: .dns, detail: "no address is known for \(host)"))
        }
        if request.url.scheme == .https, credentials[request.destination] == nil {
            let fault = faults[request.destination] ?? "the certificates are not there"
            return fail(request, TransportFailure(reason: .tls, detail: fault))
        }
        guard let level = request.gzipLevel, request.body.count >= OutgoingRequest.compressionMinimum else {
            return start(request, body: request.body, isCompressed: false, addresses)
        }
        stages[request.id] = .compressing
        compressor.compress(request.body, level: level, key: request.id) { [weak self] compressed in
            self?.start(request, body: compressed, isCompressed: true, addresses)
        }
    }

    /// Sends a request on a connection of its own and looks closely; nil where its certificates are not there.
    package func inspect(
        _ request: OutgoingRequest, addresses: [IPAddress], ended: @escaping (InspectionResult) -> Void
    ) -> Inspection? {
        let credentials = credentials[request.destination]
        guard credentials != nil || request.url.scheme != .https else { return nil }
        return Inspection(request, to: addresses, on: loop, credentials: credentials, ended: ended)
    }

    package func cancel(_ id: UInt64) {
        switch stages.removeValue(forKey: id) {
        case .compressing: compressor.cancel(id)
        case .running(let transfer, let pool):
            pool.cancel(transfer)
            dropConnections(of: pool, transfer)
        case .failing, nil: return
        }
    }

    package func dropConnections(destination: String) {
        guard let pool = pools.removeValue(forKey: destination) else { return }
        retired[ObjectIdentifier(pool)] = pool
        pool.retire()
    }

    private func start(_ request: OutgoingRequest, body: [UInt8], isCompressed: Bool, _ addresses: [IPAddress]) {
        guard let pool = pool(for: request.destination) else {
            return fail(request, .noDescriptor(.tooManyOpenFiles))
        }
        let transfer = Transfer(request, body: body, on: pool.makeHandle())
        transfer.setOptions(
            target: pool.target(for: request), addresses: addresses, isCompressed: isCompressed,
            tls: request.url.scheme == .https ? pool.tls : nil)
        stages[request.id] = .running(transfer, pool)
        pool.start(transfer)
    }

    /// A destination's connections; nil where there are too few descriptors.
    private func pool(for destination: String) -> Pool? {
        if let pool = pools[destination] { return pool }
        let most = descriptorLimit / Self.descriptorsADestination
        if pools.count + retired.count >= most, let idle = pools.first(where: { $0.value.isIdle }) {
            dropConnections(destination: idle.key)
        }
        guard pools.count + retired.count < most else { return nil }
        let pool = Pool(on: loop, credentials: credentials[destination], idleSpan: idleSpan)
        pools[destination] = pool
        pool.ended = { [weak self] transfer, outcome in self?.transferEnded(transfer, outcome) }
        pool.closed = { [weak self, unowned pool] in self?.forget(pool, destination) }
        return pool
    }

    private func transferEnded(_ transfer: Transfer, _ outcome: TransportOutcome) {
        // One that was cancelled while outcomes were given out has none.
        guard case .running(let current, let pool) = stages[transfer.request.id], current === transfer else { return }
        stages[transfer.request.id] = nil
        if transfer.isBodyTooLong { dropConnections(of: pool, transfer) }
        if case .failed = outcome { dropConnections(of: pool, transfer) }
        ended(transfer.request.id, outcome)
    }

    /// A transfer was cut off; where it was a stream of HTTP/2 its connection, perhaps dead, is left.
    private func dropConnections(of pool: Pool, _ transfer: Transfer) {
        let destination = transfer.request.destination
        if pools[destination] === pool { dropConnections(destination: destination) }
    }

    private func forget(_ pool: Pool, _ destination: String) {
        retired[ObjectIdentifier(pool)] = nil
        if pools[destination] === pool { pools[destination] = nil }
        // What a backlog's bodies and buffers took would otherwise stay until the next one needs it.
        if pools.isEmpty, retired.isEmpty { Process.trimHeap() }
    }

    private func fail(_ request: OutgoingRequest, _ failure: TransportFailure) {
        stages[request.id] = .failing
        loop.schedule(at: loop.now) { [weak self] in
            guard let self, case .failing = self.stages[request.id] else { return }
            self.stages[request.id] = nil
            self.ended(request.id, .failed(failure))
        }
    }
}

import Bytes
import HTTPTransport
import Posix
import Reachability
import Reactor
import Testing
import Time

@testable import Delivery

/// A transport on a loop of its own, with a server on the same loop.
final class Rig {
    static let version: String = {
        Process.ignoreFatalWriteSignals()
        do throws(HTTPTransportError) {
            return try Libcurl.start()
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    let loop: EventLoop
    let server: ScriptedServer
    private(set) var outcomes: [UInt64: TransportOutcome] = [:]
    private(set) var transport: CurlTransport?
    private var lastID: UInt64 = 0
    static let loopback = IPAddress([127, 0, 0, 1]).map { [$0] } ?? []

    init(
        path: String? = nil, idleSpan: Duration = .seconds(30), descriptorLimit: Int = .max,
        _ script: @escaping (ReceivedRequest) -> Void = { $0.connection.answer(200, body: "ok") }
    ) throws {
        #expect(Rig.version.contains("OpenSSL"))
        loop = try EventLoop()
        server = try ScriptedServer(on: loop, path: path, script)
        transport = CurlTransport(on: loop, idleSpan: idleSpan, descriptorLimit: descriptorLimit) {
            [weak self] id, outcome in
            #expect(self?.outcomes[id] == nil, "a second outcome")
            self?.outcomes[id] = outcome
        }
    }

    /// Sends a request to the server, or to `url`; the request's id.
    @discardableResult
    func send(
        _ body: [UInt8] = [], to destination: String = "collector", url: String? = nil,
        method: OutgoingRequest.Method = .post, gzipLevel: Int? = nil,
        headers: [HeaderField] = [], proxy: DestinationSettings.Proxy? = nil, connectTimeout: Duration = .seconds(5),
        timeout: Duration = .seconds(8),
        addresses: [IPAddress] = Rig.loopback
    ) throws -> UInt64 {
        lastID += 1
        let request = OutgoingRequest(
            id: lastID, destination: destination,
            method: method, url: try DestinationURL(url ?? "http://127.0.0.1:\(server.port)/in"), proxy: proxy,
            headers: headers,
            body: body, gzipLevel: gzipLevel, connectTimeout: connectTimeout, timeout: timeout, isCheck: false)
        transport?.send(request, addresses: addresses)
        return lastID
    }

    /// Turns the loop until a request has ended.
    func outcome(of id: UInt64) throws -> TransportOutcome? {
        try turn { outcomes[id] != nil }
        return outcomes[id]
    }

    /// Turns the loop until something holds, at most 10 s.
    func turn(until holds: () -> Bool) throws {
        let limit = Clock.now + .seconds(10)
        while !holds() {
            guard Clock.now < limit else {
                Issue.record("it did not happen within 10 s")
                return
            }
            try loop.turn(limit: .milliseconds(50))
        }
    }

    /// Turns the loop for a while.
    func turn(for span: Duration) throws {
        let limit = Clock.now + span
        while Clock.now < limit { try loop.turn(limit: .milliseconds(10)) }
    }

    /// Takes the transport down.
    func dropTransport() { transport = nil }
}

extension TransportOutcome {
    var answer: TransportAnswer? {
        if case .answer(let answer) = self { answer } else { nil }
    }

    var failure: TransportFailure? {
        if case .failed(let failure) = self { failure } else { nil }
    }
}

/// Bytes that do not compress.
func noise(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SplitMix64(seed: seed)
    var bytes: [UInt8] = []
    while bytes.count < count { bytes.appendLittleEndian(random.next()) }
    return Array(bytes.prefix(count))
}

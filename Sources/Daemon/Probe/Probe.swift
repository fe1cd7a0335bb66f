internal import Bytes
internal import Delivery
internal import HTTPTransport
internal import Posix
internal import Reachability
internal import Resolver
internal import Time

/// A probe of one destination: looks its name up, asks the kernel for the way to each address, connects to each, and
/// asks what a check asks.
///
/// It sends no event and changes nothing. Handle `timer` when `deadline` has come.
struct Probe: Sendable {
    /// What it is told.
    enum Event: Sendable {
        case begin
        /// A lookup of the host ended.
        case lookedUp(ResolverAnswer, nameServers: [IPAddress])
        /// The kernel was asked, for each address in its order.
        case ways([KernelWay])
        /// A connection was made, or failed.
        case connected(IPAddress, Errno?)
        /// The request ended.
        case inspected(InspectionResult)
        case timer
    }

    /// What it asks for.
    enum Effect: Equatable, Sendable {
        case lookUp(host: String)
        /// Answered by `ways`, at once.
        case askKernel([IPAddress])
        /// Answered by `connected`.
        case connect(IPAddress, port: UInt16)
        /// Send the request of a check; answered by `inspected`.
        case inspect([IPAddress], within: Duration)
        /// It is over.
        case end
    }

    /// All of it; a control socket's answer may take 30 s.
    static let limit = Duration.seconds(25)
    private static let connectLimit = Duration.seconds(8)

    private(set) var findings = ProbeFindings()
    /// When `timer` must be handled next; nil once it is over.
    private(set) var deadline: Instant?
    private let began: Instant
    /// What is connected to; nil for a Unix socket.
    private let host: String?
    private let port: UInt16
    private let connectTimeout: Duration
    private var isLookingUp = false
    private var isAsking = false

    /// A probe that begins now.
    init(_ settings: DestinationSettings, at now: Instant) {
        host = settings.connectHost
        port = settings.connectPort
        connectTimeout = min(Self.connectLimit, settings.connectTimeout)
        began = now
        deadline = now + Self.limit
    }

    mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
        guard deadline != nil else { return [] }
        switch event {
        case .begin: return begin(at: now)
        case .lookedUp(let answer, let nameServers): return lookedUp(answer, nameServers, at: now)
        case .ways(let ways): return took(ways, at: now)
        case .connected(let address, let error): return connected(address, error, at: now)
        case .inspected(let result):
            guard isAsking else { return [] }
            findings.inspection = result
            return end(at: now)
        case .timer: return timer(at: now)
        }
    }

    private mutating func begin(at now: Instant) -> [Effect] {
        guard let host else { return ask(at: now) }
        if let literal = IPAddress(text: host) {
            findings.lookup = (.literal, nil, nil)
            findings.addresses = [literal]
            return [.askKernel([literal])]
        }
        isLookingUp = true
        return [.lookUp(host: host)]
    }

    private mutating func lookedUp(
        _ answer: ResolverAnswer, _ nameServers: [IPAddress], at now: Instant
    ) -> [Effect] {
        guard isLookingUp, answer.host == host else { return [] }
        isLookingUp = false
        findings.nameServers = nameServers
        findings.addresses = answer.addresses
        findings.lookup = (answer.failure == nil ? .lookup : .kept, now - began, answer.failure)
        return [.askKernel(answer.addresses.isEmpty ? PathVerdict.defaultRouteAddresses : answer.addresses)]
    }

    private mutating func took(_ ways: [KernelWay], at now: Instant) -> [Effect] {
        findings.ways = ways
        let usable = ways.filter { $0.candidate != nil }.map(\.address)
        guard !findings.addresses.isEmpty, !usable.isEmpty else { return end(at: now) }
        findings.connections = usable.map { ProbeFindings.Connection(address: $0, began: now) }
        deadline = now + connectTimeout
        return usable.map { .connect($0, port: port) }
    }

    private mutating func connected(_ address: IPAddress, _ error: Errno?, at now: Instant) -> [Effect] {
        guard let index = findings.connections.firstIndex(where: { $0.address == address && $0.span == nil }) else {
            return []
        }
        findings.connections[index].span = now - findings.connections[index].began
        findings.connections[index].error = error
        return findings.connections.allSatisfy { $0.span != nil } ? connectionsEnded(at: now) : []
    }

    private mutating func connectionsEnded(at now: Instant) -> [Effect] {
        findings.connections.contains { $0.hasConnected } ? ask(at: now) : end(at: now)
    }

    private mutating func ask(at now: Instant) -> [Effect] {
        isAsking = true
        let end = began + Self.limit
        deadline = end
        return [.inspect(findings.connections.filter(\.hasConnected).map(\.address), within: end - now)]
    }

    private mutating func timer(at now: Instant) -> [Effect] {
        guard let deadline, deadline <= now else { return [] }
        guard !isAsking, !findings.connections.isEmpty else { return end(at: now) }
        for index in findings.connections.indices where findings.connections[index].span == nil {
            findings.connections[index].span = now - findings.connections[index].began
            findings.connections[index].error = .timedOut
        }
        return connectionsEnded(at: now)
    }

    private mutating func end(at now: Instant) -> [Effect] {
        deadline = nil
        findings.span = now - began
        return [.end]
    }
}

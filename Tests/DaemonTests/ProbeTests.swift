import Bytes
import Delivery
import HTTPTransport
import Posix
import Reachability
import Resolver
import Testing
import Time

@testable import Daemon

/// A probe's steps in virtual time, and what it says of what they found.
struct ProbeTests {
    private static let first = ip("198.51.100.10")
    private static let second = ip("2001:db8::10")

    /// A probe, and what it asked for.
    private struct Rig {
        let settings: DestinationSettings
        var probe: Probe
        var now = Instant(nanoseconds: 1_000_000_000_000)
        var asked: [Probe.Effect] = []

        init(_ url: String) throws {
            settings = DestinationSettings(name: "main", url: try DestinationURL(url))
            probe = Probe(settings, at: now)
        }

        mutating func tell(_ event: Probe.Event, after span: Duration = .zero) {
            now = now + span
            asked += probe.handle(event, at: now)
        }

        var isOver: Bool { probe.deadline == nil && asked.last == .end }

        func advice(_ verdict: ProbeVerdict? = .proof, _ standing: ProbeStanding = ProbeStanding()) -> ProbeAdvice {
            ProbeReport(probe.findings, of: settings, standing, verdict: verdict) { $0.text }.advice
        }
    }

    private static func ways(_ addresses: [IPAddress], reason: StateReason? = nil) -> [KernelWay] {
        addresses.map { address in
            let verdict: PathVerdict =
                reason.map { .none($0, detail: "why") }
                ?? .usable([
                    Candidate(
                        address: address, path: Path(interface: 2), interfaceName: "eth0", connectionType: .ethernet)
                ])
            return KernelWay(address: address, verdict: verdict, answer: "unicast")
        }
    }

    private static func answer(_ status: Int) -> InspectionResult {
        InspectionResult(outcome: .answer(TransportAnswer(status: status, isVerifiedPeer: true)))
    }

    private static func found(_ addresses: [IPAddress], failure: LookupError? = nil) -> Probe.Event {
        let (_, answer) = {
            var queue = ResolverQueue()
            _ = queue.ask("c.test", at: Instant(nanoseconds: 0))
            return queue.finished(
                "c.test", failure.map { .failed($0) } ?? .addresses(addresses), at: Instant(nanoseconds: 0))
        }()
        guard let answer else { preconditionFailure("a lookup that ended has an answer") }
        return .lookedUp(answer, nameServers: [ip("10.0.0.53")])
    }

    @Test func stepByStepToTheAnswer() throws {
        var rig = try Rig("https://c.test/path")
        rig.tell(.begin)
        #expect(rig.asked == [.lookUp(host: "c.test")])
        rig.tell(Self.found([Self.first, Self.second]), after: .milliseconds(20))
        #expect(rig.asked.last == .askKernel([Self.first, Self.second]))
        rig.tell(.ways(Self.ways([Self.first, Self.second])))
        #expect(rig.asked.suffix(2) == [.connect(Self.first, port: 443), .connect(Self.second, port: 443)])
        rig.tell(.connected(Self.second, nil), after: .milliseconds(30))
        #expect(rig.asked.count == 4, "each address has its time")
        rig.tell(.connected(Self.first, .connectionRefused), after: .milliseconds(30))
        #expect(rig.asked.last == .inspect([Self.second], within: .milliseconds(24_920)))
        rig.tell(.inspected(Self.answer(204)))
        #expect(rig.isOver)
        #expect(rig.advice().reason == .none)
        let findings = rig.probe.findings
        #expect(findings.lookup?.span == .milliseconds(20) && findings.nameServers == [ip("10.0.0.53")])
        #expect(findings.connections.map(\.span) == [.milliseconds(60), .milliseconds(30)])
        #expect(findings.connections.map(\.error) == [.connectionRefused, nil])
        rig.tell(.inspected(Self.answer(404)))
        #expect(rig.asked.last == .end && rig.asked.count(where: { $0 == .end }) == 1, "it ends once")
    }

    /// Whatever does not come, it ends, and within its limit.
    @Test(arguments: 0...3)
    func endsWhereAStepNeverDoes(step: Int) throws {
        var rig = try Rig("http://c.test/")
        let began = rig.now
        rig.tell(.begin)
        if step > 0 { rig.tell(Self.found([Self.first])) }
        if step > 1 { rig.tell(.ways(Self.ways([Self.first]))) }
        if step > 2 { rig.tell(.connected(Self.first, nil)) }
        for _ in 0..<10 {
            rig.now = max(rig.now, rig.probe.deadline ?? rig.now)
            rig.tell(.timer)
        }
        #expect(rig.isOver && rig.now - began <= Probe.limit)
        #expect(rig.advice().reason != .none || step == 3, "\(rig.advice())")
    }

    @Test func anAddressWithoutAWayGetsNoPacket() throws {
        var rig = try Rig("http://c.test:8080/")
        rig.tell(.begin)
        rig.tell(Self.found([Self.first, Self.second]))
        rig.tell(.ways(Self.ways([Self.first]) + Self.ways([Self.second], reason: .noRoute)))
        #expect(rig.asked.last == .connect(Self.first, port: 8080))
        rig.tell(.connected(Self.first, .connectionRefused))
        #expect(rig.isOver, "nothing is asked of what takes no connection")
        var without = try Rig("http://198.51.100.10/")
        without.tell(.begin)
        without.tell(.ways(Self.ways([Self.first], reason: .link)))
        #expect(without.asked == [.askKernel([Self.first]), .end])
        #expect(without.advice().reason == .link)
    }

    @Test func addressesOfBeforeAreUsedWhereTheNameServerIsSilent() throws {
        var rig = try Rig("http://c.test/")
        rig.tell(.begin)
        rig.tell(Self.found([], failure: LookupError(text: "silent", isSilence: true)))
        #expect(rig.asked.last == .askKernel(PathVerdict.defaultRouteAddresses), "is there a default route at all?")
        rig.tell(.ways(Self.ways([ip("192.0.2.1")])))
        #expect(rig.isOver && rig.advice().reason == .dns && rig.advice().next.hasPrefix("No name server answers"))
    }

    @Test func eachAnswerHasItsSentence() throws {
        let expected: [Int: StateReason] = [
            200: .none, 204: .none, 301: .redirect, 302: .redirect, 400: .none, 401: .unauthorized,
            403: .unauthorized, 404: .notFound, 405: .none, 407: .proxy, 410: .notFound, 415: .none, 429: .throttled,
            500: .throttled, 501: .none, 503: .throttled, 511: .portal,
        ]
        for (status, reason) in expected {
            var rig = try Rig("http://198.51.100.10/")
            rig.tell(.begin)
            rig.tell(.ways(Self.ways([Self.first])))
            rig.tell(.connected(Self.first, nil))
            rig.tell(.inspected(Self.answer(status)))
            #expect(rig.advice().reason == reason, "\(status): \(rig.advice())")
            #expect(rig.advice(.portal).reason == .portal, "\(status)")
        }
    }

    @Test func whatADestinationWaitsForIsNamedWhereTheWayIsGood() throws {
        var rig = try Rig("http://198.51.100.10/")
        rig.tell(.begin)
        rig.tell(.ways(Self.ways([Self.first])))
        rig.tell(.connected(Self.first, nil))
        rig.tell(.inspected(Self.answer(200)))
        var standing = ProbeStanding()
        standing.policy = "all waits for wifi"
        #expect(rig.advice(.proof, standing).reason == .policy)
        standing.isHeld = true
        standing.reason = .unauthorized
        #expect(rig.advice(.proof, standing).reason == .unauthorized)
        standing.isPaused = true
        #expect(rig.advice(.proof, standing).reason == .operator)
    }
}

private func ip(_ text: String) -> IPAddress {
    guard let address = IPAddress(text: text) else { preconditionFailure("\(text) is no address") }
    return address
}

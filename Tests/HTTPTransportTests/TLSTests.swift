import Bytes
import CTLSServer
import HTTPTransport
import Posix
import Reachability
import Reactor
import Testing
import Time

@testable import Delivery

struct TLSTests {
    private static let fixtures = #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/Fixtures/"

    private final class Listener: Sendable {
        let socket: FileDescriptor
        init() throws { socket = try Socket.listenTCP(address: 0x7F00_0001, port: 0) }
    }

    /// The certificates of a fixture.
    static func authority(_ name: String = "authority") throws -> TrustStore {
        try TrustStore(pem: try FileSystem.contents(of: fixtures + name + ".pem", limit: 100_000))
    }

    /// Serves connections with a fixture's certificate on another thread; the port.
    private static func serve(_ name: String, connections: Int32 = 1, requests: Int32 = 100) throws -> UInt16 {
        let listener = try Listener()
        let port = try Socket.localPort(listener.socket)
        _ = try Thread(name: "tls-server") {
            let pair = (fixtures + name + ".pem", fixtures + name + ".key")
            let answered = ctls_serve(listener.socket.number, pair.0, pair.1, connections, requests)
            #expect(answered >= 0)
        }
        return port
    }

    private func outcome(
        _ name: String, host: String, trust: TrustStore?, requests: Int = 1
    ) throws -> [TransportOutcome?] {
        let rig = try Rig()
        let port = try Self.serve(name)
        if let trust { rig.transport?.use(TLSCredentials(trust: trust), destination: "collector") }
        return try (0..<requests).map { _ in
            try rig.outcome(of: rig.send(noise(100_000, seed: 8), url: "https://\(host):\(port)/"))
        }
    }

    @Test(arguments: ["collector.test", "127.0.0.1"])
    func aVerifiedPeerAnswers(host: String) throws {
        for outcome in try outcome("server", host: host, trust: Self.authority(), requests: 3) {
            #expect(outcome?.answer?.status == 200, "\(String(describing: outcome))")
            #expect(outcome?.answer?.isVerifiedPeer == true)
            #expect(outcome?.answer?.headers.first(named: "Connection-Number") == "1")
        }
    }

    @Test func aNewConnectionResumesTheSession() throws {
        let rig = try Rig()
        let port = try Self.serve("server", connections: 2, requests: 1)
        rig.transport?.use(TLSCredentials(trust: try Self.authority()), destination: "collector")
        let url = "https://collector.test:\(port)/"
        let first = try rig.outcome(of: rig.send(url: url))?.answer
        #expect(first?.headers.first(named: "Session-Reused") == "0")
        let second = try rig.outcome(of: rig.send(url: url))?.answer
        #expect(second?.headers.first(named: "Connection-Number") == "2")
        #expect(second?.headers.first(named: "Session-Reused") == "1")
    }

    @Test func anotherNameIsRefused() throws {
        let failure = try outcome("server", host: "other.test", trust: Self.authority()).first??.failure
        #expect(failure?.reason == .tls)
        #expect(failure?.detail.contains("other.test") == true, "\(String(describing: failure))")
        #expect(failure?.isCertificateRefused == true)
    }

    @Test func anExpiredCertificateIsRefusedWithItsDates() throws {
        let failure = try outcome("expired", host: "collector.test", trust: Self.authority()).first??.failure
        #expect(failure?.reason == .tls)
        for part in ["expired", "CN=collector.test", "CN=Test Authority", "2021-01-01"] {
            #expect(failure?.detail.contains(part) == true, "\(String(describing: failure))")
        }
        #expect(failure?.isCertificateRefused == Clock.isSynchronised)
    }

    @Test func aStrangersCertificateIsRefused() throws {
        let failure = try outcome("server", host: "collector.test", trust: Self.authority("stranger")).first??.failure
        #expect(failure?.reason == .tls)
        #expect(failure?.detail.contains("CN=Test Authority") == true, "\(String(describing: failure))")
        #expect(failure?.isCertificateRefused == true)
    }

    @Test func withoutTrustNothingIsAsked() throws {
        let failure = try outcome("server", host: "collector.test", trust: nil).first??.failure
        #expect(failure?.reason == .tls && failure?.isCertificateRefused == false)
    }

    /// What was trusted before is not, and no connection of that time goes on.
    @Test func trustThatIsTakenBackIsInForceNoMore() throws {
        let rig = try Rig()
        let port = try Self.serve("server")
        rig.transport?.use(TLSCredentials(trust: try Self.authority()), destination: "collector")
        let url = "https://collector.test:\(port)/"
        #expect(try rig.outcome(of: rig.send(url: url))?.answer?.status == 200)
        rig.transport?.lack(credentials: "/etc/ca.pem cannot be used", destination: "collector")
        let failure = try rig.outcome(of: rig.send(url: url))?.failure
        #expect(failure?.reason == .tls && failure?.detail == "/etc/ca.pem cannot be used")
    }

    @Test func aServerThatSpeaksPlainHTTPIsAMatterOfTLS() throws {
        let rig = try Rig()
        rig.server.greet = { $0.answer(200) }
        rig.transport?.use(TLSCredentials(trust: try Self.authority()), destination: "collector")
        let failure = try rig.outcome(of: rig.send(url: "https://localhost:\(rig.server.port)/"))?.failure
        #expect(failure?.reason == .tls, "\(String(describing: failure))")
    }

    /// Settings, pings and unknown frames, as many as a record holds, or one in each: libcurl would read on and on.
    @Test(.serialized, arguments: [UInt8(4), 6, 0xBB], [1, 900])
    func framesForNobodyEndTheRequestAndHoldUpNothing(kind: UInt8, each: Int) throws {
        let rig = try Rig()
        let listener = try Listener()
        let port = try Socket.localPort(listener.socket)
        let length: UInt8 = kind == 6 ? 8 : 0
        let frame: [UInt8] = [0, 0, length, kind, 0, 0, 0, 0, 0] + [UInt8](repeating: 7, count: Int(length))
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        let piece = settings + [[UInt8]](repeating: frame, count: each).flatMap { $0 }
        _ = try Thread(name: "tls-flood") {
            let pair = (Self.fixtures + "server.pem", Self.fixtures + "server.key")
            #expect(ctls_flood(listener.socket.number, pair.0, pair.1, piece, piece.count, 256 << 20) > 0)
        }
        rig.transport?.use(TLSCredentials(trust: try Self.authority()), destination: "collector")
        let failure = try rig.outcome(of: rig.send(url: "https://127.0.0.1:\(port)/"))?.failure
        #expect(failure?.reason == .reset)
        #expect(failure?.detail == "the answer is too long: more than 256 KiB came at once")
        #expect(rig.loop.longestTurn < .milliseconds(500), "bounded by what is read, not by what comes")
    }

    @Test func theSystemsCertificatesCanBeRead() throws {
        #expect(try TrustStore.system().certificateCount > 50)
        #expect(throws: HTTPTransportError.unreadable(path: "/absent", errno: .noEntry)) {
            try TrustStore.system(path: "/absent")
        }
    }

    @Test func malformedCertificatesAreRefused() throws {
        let good = try FileSystem.contents(of: Self.fixtures + "authority.pem", limit: 100_000)
        #expect(try TrustStore(pem: Array("a comment\n".utf8) + good + good + [10]).certificateCount == 2)
        for (pem, count) in [([], 0), (Array("no certificate".utf8), 0), (good + good.dropLast(100), 1)] {
            #expect(throws: HTTPTransportError.certificates(good: count)) { try TrustStore(pem: pem) }
        }
    }

    @Test func certificatesToShowAreCheckedWithTheirKeys() throws {
        func pem(_ name: String) throws -> [UInt8] {
            try FileSystem.contents(of: Self.fixtures + name, limit: 100_000)
        }
        let (certificate, key) = (try pem("server.pem"), try pem("server.key"))
        _ = try ClientIdentity(certificate: certificate, key: key)
        _ = try ClientIdentity(certificate: key + certificate + (try pem("authority.pem")), key: certificate + key)
        let bad: [([UInt8], [UInt8], HTTPTransportError)] = [
            ([], key, .clientCertificate), (key, key, .clientCertificate),
            (certificate + certificate.dropLast(100), key, .clientCertificate),
            (certificate, [], .clientKey), (certificate, certificate, .clientKey),
            (certificate, try pem("encrypted.key"), .clientKey), (certificate, try pem("expired.key"), .clientPair),
        ]
        for (certificate, key, error) in bad {
            #expect(throws: error) { try ClientIdentity(certificate: certificate, key: key) }
        }
    }
}

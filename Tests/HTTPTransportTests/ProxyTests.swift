import Bytes
import HTTPTransport
import Reachability
import Testing

@testable import Delivery

struct ProxyTests {
    private func proxy(_ rig: Rig, host: String = "127.0.0.1") -> DestinationSettings.Proxy {
        DestinationSettings.Proxy(host: host, port: rig.server.port, user: "till 7", password: "pa:ss")
    }

    private func trust(_ rig: Rig) throws {
        rig.transport?.use(TLSCredentials(trust: try TLSTests.authority()), destination: "collector")
    }

    @Test(arguments: ["127.0.0.1", "proxy.test"])
    func itIsAskedForATunnelAndToldNothingElse(host: String) throws {
        let rig = try Rig { $0.connection.answer(407, "Proxy-Authenticate: Basic realm=\"x\"\r\n", body: "who?") }
        try trust(rig)
        let id = try rig.send(
            Array("{}".utf8), url: "https://collector.test/in",
            headers: [HeaderField(name: "Authorization", value: "Bearer s3cret")], proxy: proxy(rig, host: host))
        let outcome = try rig.outcome(of: id)
        #expect(outcome?.answer?.status == 407, "\(String(describing: outcome))")
        #expect(outcome?.answer?.isVerifiedPeer == true)
        let request = rig.server.requests.first
        #expect(request?.method == "CONNECT" && request?.path == "collector.test:443")
        #expect(request?.fields["proxy-authorization"] == "Basic dGlsbCA3OnBhOnNz")
        #expect(request?.fields["authorization"] == nil && request?.body.isEmpty == true)
    }

    @Test(arguments: [302, 403, 502, 503])
    func anyOtherAnswerOfItsIsAMatterOfTheWay(status: Int) throws {
        let rig = try Rig { $0.connection.answer(status, body: "no") }
        try trust(rig)
        let outcome = try rig.outcome(of: rig.send(url: "https://collector.test/", proxy: proxy(rig)))
        #expect(outcome?.failure == TransportFailure(reason: .proxy, detail: "proxy \(status)"))
    }

    @Test func afterItsRefusalTheNextRequestAsksAgain() throws {
        var statuses = [502, 407]
        let rig = try Rig { $0.connection.answer(statuses.removeFirst(), body: "no") }
        try trust(rig)
        #expect(try rig.outcome(of: rig.send(url: "https://collector.test/", proxy: proxy(rig)))?.failure != nil)
        let second = try rig.outcome(of: rig.send(url: "https://collector.test/", proxy: proxy(rig)))
        #expect(second?.answer?.status == 407)
    }

    /// Whoever answers through a proxy is not known to be the destination, though the proxy is on this machine.
    @Test(arguments: [(200, false), (407, true)])
    func plainRequestsGoToItWhole(status: Int, isVerified: Bool) throws {
        let rig = try Rig { $0.connection.answer(status, body: "ok") }
        let id = try rig.send(Array("{}".utf8), url: "http://collector.test:81/in", proxy: proxy(rig))
        let answer = try rig.outcome(of: id)?.answer
        #expect(answer?.status == status && answer?.isVerifiedPeer == isVerified)
        #expect(rig.server.requests.map(\.path) == ["http://collector.test:81/in"])
        #expect(rig.server.requests.first?.fields["proxy-authorization"] == "Basic dGlsbCA3OnBhOnNz")
    }

    @Test func oneThatIsNotThereRefuses() throws {
        let rig = try Rig()
        try trust(rig)
        rig.server.stop()
        let failure = try rig.outcome(of: rig.send(url: "https://collector.test/", proxy: proxy(rig)))?.failure
        #expect(failure?.reason == .refused)
    }
}

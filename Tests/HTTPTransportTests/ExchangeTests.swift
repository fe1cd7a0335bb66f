import Bytes
import HTTPTransport
import Posix
import Reachability
import Reactor
import Testing
import Time

@testable import Delivery

struct ExchangeTests {
    @Test func aGetBringsStatusFieldsAndBody() throws {
        let rig = try Rig { $0.connection.answer(201, "Retry-After: 7\r\nX-A:  b c \r\nx-a: d\r\n", body: "done") }
        let answer = try rig.outcome(of: rig.send(method: .get))?.answer
        #expect(answer?.status == 201)
        #expect(answer?.headers.first(named: "retry-after") == "7")
        #expect(answer?.headers.filter { $0.name.lowercased() == "x-a" }.map(\.value) == ["b c", "d"])
        #expect(answer?.body == Array("done".utf8))
        #expect(answer?.isVerifiedPeer == true)
        #expect(answer?.peer == IPAddress(text: "127.0.0.1"), "reachability keeps to the address that answers")
        #expect(rig.server.requests.map(\.method) == ["GET"])
        #expect(rig.server.requests.map(\.path) == ["/in"])
    }

    @Test func aPostCarriesItsFieldsAndEveryByte() throws {
        let rig = try Rig()
        let body = noise(70_000, seed: 1)
        let id = try rig.send(
            body,
            headers: [
                HeaderField(name: "Content-Type", value: "application/json"),
                HeaderField(name: "Uplink-Attempt", value: "1"),
            ])
        #expect(try rig.outcome(of: id)?.answer?.status == 200)
        let request = rig.server.requests.first
        #expect(request?.body == body)
        #expect(request?.fields["content-type"] == "application/json")
        #expect(request?.fields["uplink-attempt"] == "1")
        #expect(request?.fields["content-encoding"] == nil)
        #expect(request?.fields["host"] == "127.0.0.1:\(rig.server.port)")
    }

    @Test func aLongPostWaitsForNoInterimAnswer() throws {
        let rig = try Rig()
        #expect(try rig.outcome(of: rig.send([UInt8](repeating: 3, count: 1_200_000)))?.answer?.status == 200)
        #expect(rig.server.requests.first?.body.count == 1_200_000)
        #expect(rig.server.requests.first?.fields["expect"] == nil)
    }

    @Test func anEmptyPostIsOne() throws {
        let rig = try Rig()
        #expect(try rig.outcome(of: rig.send())?.answer?.status == 200)
        #expect(rig.server.requests.first?.fields["content-length"] == "0")
    }

    @Test func oneConnectionServesManyRequests() throws {
        let rig = try Rig()
        for number in 0..<20 {
            #expect(try rig.outcome(of: rig.send([UInt8](repeating: 65, count: number)))?.answer?.status == 200)
        }
        #expect(rig.server.connectionCount == 1)
        #expect(rig.server.requests.map(\.body.count) == Array(0..<20))
    }

    @Test func connectionsThatIdleAreClosed() throws {
        let rig = try Rig(idleSpan: .milliseconds(200))
        _ = try rig.outcome(of: rig.send())
        #expect(rig.server.open.count == 1)
        try rig.turn { rig.server.open.isEmpty }
        #expect(try rig.outcome(of: rig.send())?.answer?.status == 200)
        #expect(rig.server.connectionCount == 2)
    }

    @Test func aPooledConnectionThatTheServerClosedIsReplaced() throws {
        let rig = try Rig()
        for number in 0..<5 {
            let body = noise(3_000, seed: UInt64(number))
            #expect(try rig.outcome(of: rig.send(body))?.answer?.status == 200)
            #expect(rig.server.requests.last?.body == body)
            for connection in rig.server.open.values { connection.close() }
        }
        #expect(rig.server.connectionCount == 5)
    }

    @Test(arguments: [3_000, 200_000])
    func aRequestThatAPooledConnectionLosesIsSentAgainWhole(count: Int) throws {
        let rig = try Rig()
        rig.server.script = { [unowned server = rig.server] request in
            if server.requests.count == 2 { request.connection.close() } else { request.connection.answer(200) }
        }
        let body = noise(count, seed: 14)
        #expect(try rig.outcome(of: rig.send(body))?.answer?.status == 200)
        #expect(try rig.outcome(of: rig.send(body))?.answer?.status == 200)
        #expect(rig.server.requests.map { $0.body == body } == [true, true, true])
        #expect(rig.server.connectionCount == 2)
    }

    @Test func droppedConnectionsAreClosedAndTheOneInUseGoesOn() throws {
        var waiting: [ReceivedRequest] = []
        let rig = try Rig { waiting.append($0) }
        let first = try rig.send()
        try rig.turn { waiting.count == 1 }
        rig.transport?.dropConnections(destination: "collector")
        let second = try rig.send()
        try rig.turn { waiting.count == 2 }
        for request in waiting { request.connection.answer(204) }
        #expect(try rig.outcome(of: first)?.answer?.status == 204)
        #expect(try rig.outcome(of: second)?.answer?.status == 204)
        #expect(rig.server.connectionCount == 2)
        try rig.turn { rig.server.open.count == 1 }
        rig.transport?.dropConnections(destination: "collector")
        try rig.turn { rig.server.open.isEmpty }
    }

    @Test func aCancelledRequestHasNoOutcomeAndItsConnectionCloses() throws {
        let rig = try Rig { _ in }
        let id = try rig.send(timeout: .seconds(60))
        try rig.turn { rig.server.requests.count == 1 }
        rig.transport?.cancel(id)
        #expect(rig.transport?.transferCount == 0)
        try rig.turn { rig.server.open.isEmpty }
        #expect(rig.outcomes.isEmpty)
    }

    @Test func aTransportThatGoesClosesEverything() throws {
        let rig = try Rig { _ in }
        try rig.send()
        try rig.send()
        try rig.turn { rig.server.requests.count == 2 }
        rig.dropTransport()
        try rig.turn { rig.server.open.isEmpty }
        #expect(rig.outcomes.isEmpty)
    }

    @Test func aRedirectIsAnAnswer() throws {
        let rig = try Rig { $0.connection.answer(302, "Location: http://127.0.0.1:1/elsewhere\r\n") }
        let answer = try rig.outcome(of: rig.send(method: .get))?.answer
        #expect(answer?.status == 302)
        #expect(answer?.headers.first(named: "Location") == "http://127.0.0.1:1/elsewhere")
        #expect(rig.server.requests.count == 1)
    }

    @Test func interimAnswersLeaveNoTrace() throws {
        let rig = try Rig {
            $0.connection.write("HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n")
            $0.connection.write("HTTP/1.1 103 Early Hints\r\nX-Interim: 2\r\n\r\n")
            $0.connection.answer(200, "X-Final: 3\r\n")
        }
        let answer = try rig.outcome(of: rig.send(noise(2_000, seed: 3)))?.answer
        #expect(answer?.status == 200)
        #expect(answer?.headers.map(\.name) == ["X-Final", "Content-Length"])
    }

    @Test func aUnixSocketServesAsWell() throws {
        let path = "/tmp/uplinkd-transport-\(Process.identifier)-\(SystemRandom.bits()).sock"
        defer { try? FileSystem.unlink(path) }
        let rig = try Rig(path: path)
        let url = "http+unix://" + path.split(separator: "/").map { "%2F" + $0 }.joined() + "/in?a=b"
        let answer = try rig.outcome(of: rig.send(Array("{}".utf8), url: url, addresses: []))?.answer
        #expect(answer?.status == 200)
        #expect(answer?.isVerifiedPeer == true)
        #expect(rig.server.requests.first?.path == "/in?a=b")
        let absent = try rig.outcome(of: rig.send(url: "http+unix://%2Ftmp%2Fabsent.sock/", addresses: []))
        #expect(absent?.failure?.reason == .refused)
    }

    @Test func theSecondAddressServesWhereTheFirstIsDead() throws {
        let rig = try Rig()
        let addresses = try [#require(IPAddress([127, 0, 0, 2]))] + Rig.loopback
        let url = "http://collector.invalid:\(rig.server.port)/in"
        #expect(try rig.outcome(of: rig.send(url: url, addresses: addresses))?.answer?.status == 200)
        #expect(rig.server.requests.first?.fields["host"] == "collector.invalid:\(rig.server.port)")
    }

    @Test func newAddressesOfANameAreTaken() throws {
        let rig = try Rig()
        let url = "http://collector.invalid:\(rig.server.port)/in"
        let dead = try [#require(IPAddress([127, 0, 0, 2]))]
        #expect(try rig.outcome(of: rig.send(url: url, addresses: dead))?.failure?.reason == .refused)
        #expect(try rig.outcome(of: rig.send(url: url))?.answer?.status == 200)
    }
}

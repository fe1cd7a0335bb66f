import Bytes
import HTTP1
import HTTPServer
import Posix
import Reactor
import Testing
import Time

struct HTTPServerTests {
    /// Answers with method, path and the body's count of bytes.
    private static let echo: @Sendable (HTTPExchange) -> Void = { exchange in
        let text = "\(exchange.head.method) \(exchange.head.path) \(exchange.body.count);"
        exchange.answer(Response(status: 200, contentType: "text/plain", body: Array(text.utf8)))
        exchange.answer(Response(status: 500))
    }

    private static let request = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test func manyRequestsAtOnceAreAnsweredInOrder() throws {
        try withServer(Self.echo) { path in
            let client = try RawClient(path)
            let post = "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
            let last = "GET /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            try client.send(String(repeating: Self.request + post, count: 50) + last)
            let text = try client.readToEnd()
            let order = text.matches(of: /[A-Z]+ \/[abc] [0-9]+;/).map { String($0.output) }
            #expect(order == (0..<50).flatMap { _ in ["GET /a 0;", "POST /b 3;"] } + ["GET /c 0;"])
            #expect(!text.contains("500"))
        }
    }

    @Test func aRequestInPiecesIsAnsweredAndContinueIsSaid() throws {
        try withServer(Self.echo) { path in
            let client = try RawClient(path)
            try client.send("POST /b HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Le")
            try client.send("ngth: 4\r\n\r\n")
            #expect(try client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            try client.send("ab")
            try client.send("cd")
            #expect(try client.read(until: ";").hasSuffix("POST /b 4;"))
        }
    }

    @Test(arguments: [
        ("GET /a HTTP/1.1\r\nX: \(String(repeating: "y", count: 17_000))\r\n\r\n", 431),
        ("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n", 413),
        ("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        ("nonsense\r\n\r\n", 400), ("GET /a HTTP/2.0\r\n\r\n", 505),
    ])
    func whatIsNotTakenIsAnsweredAndClosed(_ request: String, _ status: Int) throws {
        try withServer(Self.echo) { path in
            let client = try RawClient(path)
            try client.send(request)
            let text = try client.readToEnd()
            #expect(text.hasPrefix("HTTP/1.1 \(status) "))
            #expect(text.contains("Connection: close\r\n"))
        }
    }

    @Test(arguments: [
        "G", "GET /a HTTP/1.1\r\nHost: x\r\n", "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab",
    ])
    func aSlowClientIsTold(_ start: String) throws {
        var limits = HTTPServerLimits()
        limits.requestTime = .milliseconds(50)
        try withServer(limits: limits, Self.echo) { path in
            let client = try RawClient(path)
            try client.send(start)
            #expect(try client.readToEnd().hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test func aClientThatDripsIsNotWaitedForAnyLonger() throws {
        var limits = HTTPServerLimits()
        limits.requestTime = .milliseconds(100)
        try withServer(limits: limits, Self.echo) { path in
            let client = try RawClient(path)
            try client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n")
            var drops = 0
            while drops < 300, (try? client.send("x")) != nil {
                drops += 1
                Clock.sleep(.milliseconds(10))
            }
            #expect(drops < 300)
            #expect(try client.readToEnd().hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test func aSecondAnswerNeverReachesTheNextRequest() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/server.sock"
        try withLoop({ loop in
            let keeper = Keeper(on: loop)
            try keeper.server?.listen(taking: Socket.listenUnix(path))
            return (keeper, true)
        }) { _ in
            let client = try RawClient(path)
            try client.send(Self.request + "GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let statuses = try client.readToEnd().matches(of: #/HTTP/1.1 ([0-9]+) /#).map { String($0.output.1) }
            #expect(statuses == ["200", "202"])
        }
    }

    @Test func stoppingSendsTheAnswerInHandAndClosesTheRest() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/server.sock"
        try withLoop({ loop in
            let stopper = Stopper(on: loop)
            try stopper.server?.listen(taking: Socket.listenUnix(path))
            return (stopper, true)
        }) { _ in
            let idle = try RawClient(path)
            try idle.send("GET /idle HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try idle.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
            let waiting = try RawClient(path)
            try waiting.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try idle.readToEnd().isEmpty)
            let answer = try waiting.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 202 "))
            #expect(answer.contains("Connection: close\r\n"))
            #expect(throws: Errno.connectionRefused) { _ = try Socket.connectUnix(path) }
        }
    }

    @Test func anIdleClientIsClosedWithoutAWord() throws {
        var limits = HTTPServerLimits()
        limits.idleTime = .milliseconds(50)
        try withServer(limits: limits, Self.echo) { path in
            let client = try RawClient(path)
            #expect(try client.readToEnd().isEmpty)
            let second = try RawClient(path)
            try second.send(Self.request)
            #expect(try second.readToEnd().hasSuffix("GET /a 0;"))
        }
    }

    @Test func oneClientTooManyIsSentAwayAndAPlaceIsFreedByLeaving() throws {
        var limits = HTTPServerLimits()
        limits.connections = 2
        try withServer(limits: limits, Self.echo) { path in
            let first = try RawClient(path)
            try first.send(Self.request + "GET")
            _ = try first.read(until: ";")
            do {
                let second = try RawClient(path)
                try second.send(Self.request + "GET")
                _ = try second.read(until: ";")
                let third = try RawClient(path)
                let text = try third.readToEnd()
                #expect(text.hasPrefix("HTTP/1.1 503 ") && text.contains("Retry-After: 1\r\n"))
            }
            var answered = false
            for _ in 0..<100 where !answered {
                let fourth = try RawClient(path)
                try fourth.send(Self.request)
                answered = try fourth.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 ")
            }
            #expect(answered)
        }
    }

    @Test func theLongestIdleMakesRoomForTheNext() throws {
        var limits = HTTPServerLimits()
        limits.connections = 3
        try withServer(limits: limits, Self.echo) { path in
            let busy = try RawClient(path)
            try busy.send(Self.request + "GET")
            _ = try busy.read(until: ";")
            let idle = try RawClient(path)
            try idle.send(Self.request)
            _ = try idle.read(until: ";")
            Clock.sleep(.milliseconds(20))
            let later = try RawClient(path)
            try later.send(Self.request)
            _ = try later.read(until: ";")
            let new = try RawClient(path)
            try new.send(Self.request)
            #expect(try new.read(until: ";").hasSuffix("GET /a 0;"))
            #expect(try idle.readToEnd().isEmpty)
            try later.send(Self.request)
            #expect(try later.read(until: ";").hasSuffix("GET /a 0;"))
            try busy.send(" /b HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try busy.read(until: ";").hasSuffix("GET /b 0;"))
        }
    }

    @Test func aClientThatReadsNothingHoldsUpNobody() throws {
        let served = Lock(0)
        let big: @Sendable (HTTPExchange) -> Void = { exchange in
            served.with { $0 += 1 }
            exchange.answer(Response(status: 200, body: [UInt8](repeating: 0x61, count: 1 << 19)))
        }
        var limits = HTTPServerLimits()
        limits.drainTime = .milliseconds(700)
        limits.connections = 2
        try withServer(limits: limits, big) { path in
            let stubborn = try RawClient(path)
            try stubborn.send(String(repeating: Self.request, count: 10))
            let other = try RawClient(path)
            try other.send("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(try other.readToEnd().utf8.count > 1 << 19)
            Clock.sleep(.milliseconds(1_200))
            #expect(try stubborn.readToEnd().utf8.count < 1 << 19, "the answer to the first was cut off")
            #expect(served.with { $0 } == 2, "the next request waits until the answer has gone")
        }
    }
}

/// Answers the first request again when the second has come.
private final class Keeper {
    private(set) var server: HTTPServer?
    private var first: HTTPExchange?

    init(on loop: EventLoop) {
        server = HTTPServer(on: loop, limits: HTTPServerLimits()) { [unowned self] exchange in
            first?.answer(Response(status: 500))
            exchange.answer(Response(status: first == nil ? 200 : 202))
            first = exchange
        }
    }
}

/// Stops its server at a request for `/wait`, and answers that 20 ms later.
private final class Stopper {
    private(set) var server: HTTPServer?

    init(on loop: EventLoop) {
        server = HTTPServer(on: loop, limits: HTTPServerLimits()) { [unowned self] exchange in
            guard exchange.head.path == "/wait" else { return exchange.answer(Response(status: 200)) }
            server?.stop()
            loop.schedule(at: loop.now + .milliseconds(20)) { exchange.answer(Response(status: 202)) }
        }
    }
}

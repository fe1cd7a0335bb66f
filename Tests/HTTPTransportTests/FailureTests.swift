import Bytes
import Glibc
import HTTPTransport
import Posix
import Reachability
import Reactor
import Testing
import Time

@testable import Delivery

struct FailureTests {
    private static let short = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello"

    @Test func anAnswerCutShortAtAnyByteIsNone() throws {
        var count = 0
        let rig = try Rig { request in
            request.connection.write(Array(Self.short.utf8.prefix(count)))
            request.connection.closeAfterFlush()
        }
        for cut in 0..<Self.short.utf8.count {
            count = cut
            let outcome = try rig.outcome(of: rig.send(Array("{}".utf8)))
            #expect(outcome?.failure?.reason == .reset, "cut after \(cut) bytes: \(String(describing: outcome))")
        }
        count = Self.short.utf8.count
        #expect(try rig.outcome(of: rig.send(Array("{}".utf8)))?.answer?.body == Array("hello".utf8))
    }

    @Test func aChunkedAnswerCutShortIsNone() throws {
        let whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        let headCount = 47
        var count = 0
        let rig = try Rig { request in
            request.connection.write(Array(whole.utf8.prefix(count)))
            request.connection.closeAfterFlush()
        }
        for cut in headCount..<whole.utf8.count - 2 {
            count = cut
            let outcome = try rig.outcome(of: rig.send())
            #expect(outcome?.failure?.reason == .reset, "cut after \(cut) bytes: \(String(describing: outcome))")
        }
        count = whole.utf8.count
        #expect(try rig.outcome(of: rig.send())?.answer?.body == Array("abcde".utf8))
    }

    @Test func whatIsNotHTTPIsNoAnswer() throws {
        let rig = try Rig { request in
            request.connection.write("SSH-2.0-OpenSSH_9.2\r\n")
            request.connection.closeAfterFlush()
        }
        #expect(try rig.outcome(of: rig.send())?.failure?.reason == .reset)
    }

    @Test func aClosedPortRefuses() throws {
        let rig = try Rig()
        rig.server.stop()
        let gone = try Socket.localPort(Socket.listenTCP(address: 0x7F00_0001, port: 0))
        let failure = try rig.outcome(of: rig.send(url: "http://127.0.0.1:\(gone)/"))?.failure
        #expect(failure?.reason == .refused)
        #expect(failure?.detail.contains("127.0.0.1") == true)
    }

    @Test func aResetIsOne() throws {
        let rig = try Rig()
        rig.server.greet = { connection in
            // Closing with input unread makes the kernel send a reset.
            connection.isReadingPaused = true
            rig.loop.schedule(at: rig.loop.now + .milliseconds(30)) { connection.close() }
        }
        #expect(try rig.outcome(of: rig.send(noise(100_000, seed: 5)))?.failure?.reason == .reset)
    }

    @Test func aSlowAnswerIsOneWithinTheTimeout() throws {
        let rig = try Rig()
        rig.server.script = { request in
            rig.loop.schedule(at: rig.loop.now + .milliseconds(200)) { request.connection.answer(200) }
        }
        #expect(try rig.outcome(of: rig.send())?.answer?.status == 200)
        #expect(try rig.outcome(of: rig.send(timeout: .milliseconds(50)))?.failure?.reason == .timeout)
    }

    @Test func aPeerThatSaysNothingTimesOut() throws {
        let rig = try Rig { _ in }
        #expect(try rig.outcome(of: rig.send(timeout: .milliseconds(100)))?.failure?.reason == .timeout)
        try rig.turn { rig.server.open.isEmpty }
    }

    @Test func aPeerThatSpeaksNoTLSTimesOut() throws {
        let rig = try Rig()
        rig.server.greet = { $0.isReadingPaused = true }
        rig.transport?.use(TLSCredentials(trust: try TLSTests.authority()), destination: "collector")
        let id = try rig.send(
            url: "https://localhost:\(rig.server.port)/", connectTimeout: .milliseconds(100))
        #expect(try rig.outcome(of: id)?.failure?.reason == .timeout)
    }

    @Test func aPeerThatReadsNothingTimesOutAndTheLoopGoesOn() throws {
        let rig = try Rig()
        rig.server.greet = { $0.isReadingPaused = true }
        let body = [UInt8](repeating: 1, count: 8_388_608)
        // The machine may halt a turn that does nothing long, so one good attempt of three shows it.
        var longest: [Duration] = []
        for _ in 0..<3 {
            rig.loop.resetLongestTurn()
            #expect(try rig.outcome(of: rig.send(body, timeout: .milliseconds(300)))?.failure?.reason == .timeout)
            longest.append(rig.loop.longestTurn)
        }
        #expect(longest.contains { $0 <= .milliseconds(50) }, "\(longest)")
    }

    @Test func aNameWithoutAddressesIsAMatterOfDNS() throws {
        let rig = try Rig()
        let id = try rig.send(url: "http://collector.invalid:\(rig.server.port)/", addresses: [])
        #expect(rig.outcomes.isEmpty)
        #expect(try rig.outcome(of: id)?.failure?.reason == .dns)
    }

    @Test func aHeadOver64KiBIsNoAnswer() throws {
        let rig = try Rig { request in
            request.connection.write("HTTP/1.1 200 OK\r\n")
            for number in 0..<70 {
                request.connection.write("X-\(number): \(String(repeating: "a", count: 1_000))\r\n")
            }
        }
        let failure = try rig.outcome(of: rig.send(timeout: .seconds(60)))?.failure
        #expect(failure?.reason == .reset)
        #expect(failure?.detail.contains("64 KiB") == true)
    }

    /// libcurl passes over the extensions of chunks, and tells nothing of them.
    @Test func anExtensionWithoutEndIsNoAnswer() throws {
        let rig = try Rig { request in
            request.connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=")
            request.connection.write([UInt8](repeating: 0x61, count: 4_194_304))
        }
        let failure = try rig.outcome(of: rig.send(timeout: .seconds(60)))?.failure
        #expect(failure?.reason == .reset)
        #expect(failure?.detail.contains("1 MiB") == true, "\(String(describing: failure))")
    }

    @Test(arguments: [2_047, 2_048, 65_536, 65_537, 1_000_000])
    func ofABodyTheFirst2KiBAreKept(count: Int) throws {
        let rig = try Rig { $0.connection.answer(429, body: String(repeating: "x", count: count)) }
        let answer = try rig.outcome(of: rig.send())?.answer
        #expect(answer?.status == 429)
        #expect(answer?.body == [UInt8](repeating: UInt8(ascii: "x"), count: min(count, 2_048)))
        // One over the limit ends the transfer, and with it the connection.
        if count > 65_536 { try rig.turn { rig.server.open.isEmpty } }
        #expect(try rig.outcome(of: rig.send())?.answer?.status == 429)
        #expect(rig.server.connectionCount == (count > 65_536 ? 2 : 1))
    }

    @Test func anAnswerBeforeTheBodyIsSentCounts() throws {
        let rig = try Rig()
        rig.server.greet = { connection in
            connection.isReadingPaused = true
            rig.loop.schedule(at: rig.loop.now + .milliseconds(30)) { connection.answer(413, "Connection: close\r\n") }
        }
        #expect(try rig.outcome(of: rig.send([UInt8](repeating: 2, count: 8_388_608)))?.answer?.status == 413)
    }

    @Test func tooManyRequestsAtOnceAreABug() async {
        await #expect(processExitsWith: .failure) {
            let rig = try Rig { _ in }
            for _ in 0...CurlTransport.transferLimit { try rig.send() }
        }
    }

    @Test func asManyAsTheLimitRunAtOnce() throws {
        let rig = try Rig()
        let ids = try (0..<CurlTransport.transferLimit).map { number in
            try rig.send(noise(5_000, seed: UInt64(number)), gzipLevel: number % 2 == 0 ? 1 : nil)
        }
        for id in ids { #expect(try rig.outcome(of: id)?.answer?.status == 200) }
    }

    @Test func aPeerThatTakesNoConnectionTimesOut() throws {
        let rig = try Rig()
        let silent = try SilentListener()
        for _ in 0..<3 {
            let failure = try rig.outcome(of: rig.send(url: silent.url, connectTimeout: .milliseconds(150)))?.failure
            #expect(failure?.reason == .timeout)
        }
        let cancelled = try rig.send(url: silent.url)
        try rig.turn(for: .milliseconds(50))
        rig.transport?.cancel(cancelled)
        #expect(try rig.outcome(of: rig.send())?.answer?.status == 200)
        _ = try rig.send(url: silent.url)
        try rig.turn(for: .milliseconds(50))
        rig.dropTransport()
        #expect(rig.outcomes[cancelled] == nil)
    }

    /// libcurl closes the first attempt without a word, and the second gets its number.
    @Test func theNextAddressServesWhereTheFirstTakesNoConnection() throws {
        let rig = try Rig()
        let silent = try SilentListener(address: 0x7F00_0002, port: rig.server.port)
        let addresses = try [#require(IPAddress([127, 0, 0, 2]))] + Rig.loopback
        let id = try rig.send(
            url: "http://collector.invalid:\(silent.port)/", connectTimeout: .seconds(3), addresses: addresses)
        let outcome = try rig.outcome(of: id)
        #expect(outcome?.answer?.status == 200, "\(String(describing: outcome))")
    }

    /// With descriptors for one destination, others wait until its connections idle, and take their place then.
    @Test func destinationsTakeTurnsWhereDescriptorsAreFew() throws {
        var held: [ReceivedRequest] = []
        let rig = try Rig(descriptorLimit: CurlTransport.descriptorsADestination) { held.append($0) }
        let first = try rig.send(to: "first")
        try rig.turn { held.count == 1 }
        let failure = try rig.outcome(of: rig.send(to: "second"))?.failure
        #expect(failure?.reason == .address)
        #expect(failure?.detail.contains("EMFILE") ?? false)
        held[0].connection.answer(200, body: "ok")
        #expect(try rig.outcome(of: first)?.answer?.status == 200)
        let second = try rig.send(to: "second")
        try rig.turn { held.count == 2 }
        held[1].connection.answer(200, body: "ok")
        #expect(try rig.outcome(of: second)?.answer?.status == 200)
    }
}

import Bytes
import Posix
import Testing

@testable import Netlink

private let address = IPAddress([192, 0, 2, 1])

struct QuerySocketTests {
    @Test func skipsAnswersToEarlierQuestionsAndOtherSenders() throws {
        let channel = FakeChannel([
            .datagram(Capture.blackhole, stale: true), .datagram(Capture.prohibit, sender: 4_711),
            .datagram(Capture.taken),
        ])
        let socket = QuerySocket(channel)
        let answer = try socket.route(to: try #require(address), matching: false)
        guard case .route(let route) = answer else { throw NetlinkError.malformed }
        #expect(route.gateway == IPAddress([10, 9, 0, 1]))
    }

    @Test(arguments: [
        (Capture.blackhole, RouteRefusal.blackhole), (Capture.unreachable, .unreachable),
        (Capture.prohibit, .prohibited), (Capture.throwing, .noRoute), (Capture.blackholeIPv6, .blackhole),
    ])
    func tellsWhyThereIsNoRoute(bytes: [UInt8], refusal: RouteRefusal) throws {
        let socket = QuerySocket(FakeChannel([.datagram(bytes)]))
        #expect(try socket.route(to: try #require(address), matching: true) == .refused(refusal))
    }

    @Test func aSilentKernelIsATimeout() throws {
        let socket = QuerySocket(FakeChannel([.nothing]))
        #expect(throws: NetlinkError.timedOut) { try socket.link(1) }
    }

    @Test func aLinkThatIsNotThereIsNil() throws {
        #expect(try QuerySocket(FakeChannel([.datagram(Capture.noLink)])).link(99) == nil)
    }

    @Test func anInterruptedDumpIsAskedForAgainFiveTimes() throws {
        var interrupted = Capture.linkUp
        interrupted[6] |= 0x10
        let one: [FakeChannel.Step] = [.datagram(interrupted), .datagram(Capture.done)]
        let twice = FakeChannel(one + [.datagram(Capture.linkUp), .datagram(Capture.done)])
        #expect(try QuerySocket(twice).links().map(\.name) == ["v0"])
        #expect(twice.sent.count == 2)
        let always = FakeChannel(Array(repeating: one, count: 9).flatMap { $0 })
        #expect(try QuerySocket(always).links().map(\.name) == ["v0"], "the last one is better than none")
        #expect(always.sent.count == 5)
    }

    @Test func aTruncatedAnswerIsNotBelieved() throws {
        let socket = QuerySocket(FakeChannel([.truncated(Capture.linkUp)]))
        #expect(throws: NetlinkError.malformed) { try socket.link(2) }
    }
}

struct MulticastSocketTests {
    private func drained(_ steps: [FakeChannel.Step]) throws -> LinkChanges {
        let socket = MulticastSocket { () throws(Errno) in FakeChannel(steps) }
        try socket.open()
        return socket.drain()
    }

    @Test func countsByGroup() throws {
        let changes = try drained([.datagram(Capture.linkUp), .datagram(Capture.nexthop), .datagram(Capture.linkUp)])
        #expect(changes.messages == [.link: 2, .nexthop: 1])
        #expect(changes.isDirty)
    }

    @Test func onlyTheKernelIsBelieved() throws {
        #expect(try !drained([.datagram(Capture.linkUp, sender: 1)]).isDirty)
        #expect(try !drained([.datagram(Capture.bridgePortGone)]).isDirty)
    }

    @Test func anOverrunIsDirtyAndReadingGoesOn() throws {
        let changes = try drained([.fails(.noBuffers), .datagram(Capture.routeIPv4), .truncated(Capture.linkUp)])
        #expect(changes.overruns == 2)
        #expect(changes.failure == nil)
        #expect(changes.messages[.ipv4Route] == 1)
    }

    @Test func anotherErrorAsksForANewSocketEverMoreSlowly() throws {
        let socket = MulticastSocket { () throws(Errno) in FakeChannel([.fails(.noMemory)]) }
        var delays: [Duration] = []
        for _ in 0..<7 {
            try socket.open()
            #expect(socket.drain().failure == .noMemory)
            delays.append(socket.reopenDelay)
        }
        #expect(delays == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    }

    @Test func takesABoundedNumberAtATime() throws {
        let many = Array(repeating: FakeChannel.Step.datagram(Capture.nexthop), count: 300)
        #expect(try drained(many).messages[.nexthop] == 256)
    }
}

struct KernelTests {
    @Test func theWayToThisMachineIsLocal() throws {
        let socket = QuerySocket(try KernelChannel())
        for text in ["127.0.0.1", "127.8.8.8"] {
            guard case .route(let route) = try socket.route(to: try #require(IPAddress(text: text)), matching: false)
            else { throw NetlinkError.malformed }
            #expect(route.kind == .local)
            let link = try #require(try socket.link(route.interface))
            #expect(link.name == "lo")
            #expect(link.hardwareType == 772)
        }
        #expect(try socket.links().contains { $0.name == "lo" })
        #expect(try socket.link(999_999) == nil)
    }

    /// Strict checking refuses flags that a family does not know, with EINVAL, which also stands for a blackhole.
    @Test func questionsForIPv6AreWellFormed() throws {
        let socket = QuerySocket(try KernelChannel())
        for matching in [true, false] {
            _ = try socket.route(to: try #require(IPAddress(text: "2001:db8::1")), matching: matching)
        }
    }

    @Test func joinsItsGroups() throws {
        let channel = try KernelChannel(joining: MulticastGroup.allCases)
        #expect(channel.missingGroups.isEmpty)
        let socket = MulticastSocket()
        try socket.open()
        #expect(socket.descriptor != nil)
        #expect(socket.drain().failure == nil)
    }
}

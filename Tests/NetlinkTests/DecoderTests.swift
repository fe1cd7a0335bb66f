import Bytes
import Testing

@testable import Netlink

private func onlyMessage(_ bytes: [UInt8]) throws -> Message {
    var reader = MessageReader(bytes, count: bytes.count)
    let (first, second) = (reader.next(), reader.next())
    #expect(second == nil)
    return try #require(first)
}

private func route(_ bytes: [UInt8]) throws -> Route {
    try #require(Decoder.route(try onlyMessage(bytes), in: bytes))
}

private func link(_ bytes: [UInt8]) throws -> LinkInfo {
    try #require(Decoder.link(try onlyMessage(bytes), in: bytes))
}

struct DecoderTests {
    @Test func readsTheRouteTaken() throws {
        let expected = Route(
            kind: .unicast, interface: 2, gateway: IPAddress([10, 9, 0, 1]), source: IPAddress([10, 9, 0, 2]))
        #expect(try route(Capture.taken) == expected)
        let six = try route(Capture.takenIPv6)
        #expect(six.gateway == IPAddress(text: "fd09::1"))
        #expect(six.source == IPAddress(text: "fd09::2"))
        #expect(six.interface == 2)
        #expect(six.expiresAfter == nil)
    }

    @Test func readsTheEntryBehindIt() throws {
        #expect(
            try route(Capture.entry) == Route(kind: .unicast, interface: 2, gateway: IPAddress([10, 9, 0, 1])))
        #expect(try route(Capture.entryDown).isLinkDown)
        #expect(try route(Capture.multipathDown).isLinkDown)
        #expect(try route(Capture.multipathDown).interface == 0)
    }

    @Test func readsKindsOfRoutes() throws {
        let local = try route(Capture.localTaken)
        #expect(local.kind == .local)
        #expect(local.interface == 1)
        #expect(local.table == 255)
        #expect(try route(Capture.broadcast).kind == .other(3))
        #expect(try route(Capture.viaIPv6).gateway == IPAddress(text: "fd09::1"))
        let expiry = try #require(try route(Capture.entryExpiring).expiresAfter)
        #expect(expiry > .seconds(990) && expiry <= .seconds(1_000))
    }

    @Test func oneHopOfSeveralThatIsUpKeepsTheRouteUp() throws {
        var bytes = Capture.multipathDown
        // The route's own flag, then that of the first hop: attributes are table, then multipath.
        let flags = try #require(try onlyMessage(bytes).body.first) + 8
        #expect(bytes[flags] == 0x10)
        bytes[flags] = 0
        #expect(try route(bytes).isLinkDown)
        let hops = try #require(bytes.indices.first { at in at > flags && bytes[at] == 0x10 && bytes[at + 1] == 0 })
        bytes[hops] = 0
        #expect(try !route(bytes).isLinkDown)
    }

    @Test func readsLinks() throws {
        let veth = try link(Capture.linkUp)
        #expect(veth.index == 2)
        #expect(veth.name == "v0")
        #expect(veth.kind == "veth")
        #expect(veth.isUsable)
        #expect(veth.hardwareType == 1)
        // Its IFLA_LINK is an index of the other namespace.
        #expect(veth.lower == nil)
        #expect(veth.carrierChanges > 0)
        let bridge = try link(Capture.bridge)
        #expect(bridge.kind == "bridge")
        #expect(!bridge.isUsable)
    }

    @Test(arguments: [
        (Capture.linkUp, MulticastGroup.link), (Capture.addressIPv4, .ipv4Address),
        (Capture.addressIPv6, .ipv6Address), (Capture.routeIPv4, .ipv4Route), (Capture.routeIPv6, .ipv6Route),
        (Capture.rule, .ipv4Rule), (Capture.nexthop, .nexthop),
    ])
    func tellsTheGroup(bytes: [UInt8], group: MulticastGroup) throws {
        #expect(Decoder.group(of: try onlyMessage(bytes), in: bytes) == group)
    }

    @Test func aBridgesWordOnItsPortIsNoLink() throws {
        let bytes = Capture.bridgePortGone
        #expect(Decoder.group(of: try onlyMessage(bytes), in: bytes) == nil)
        #expect(Decoder.link(try onlyMessage(bytes), in: bytes) == nil)
    }

    @Test(arguments: [
        (UInt32(1), UInt8(0), true), (1, 6, true), (0, 6, false), (1, 5, false), (1, 2, false),
    ])
    func aLinkIsUsableUpAndNotDormant(flags: UInt32, state: UInt8, usable: Bool) {
        let link = LinkInfo(index: 1, name: "x", flags: flags | 0x1_0000, operationalState: state)
        #expect(link.isUsable == usable)
    }

    /// Lengths below the header, beyond the end, and of zero end the walk; nothing traps or loops.
    @Test func lengthsThatCannotBeRightEndTheWalk() {
        for length in [UInt32(0), 3, 15, 17, 1_000, .max] {
            var bytes: [UInt8] = []
            bytes.appendNative(length)
            bytes.appendZeros(12)
            var reader = MessageReader(bytes, count: bytes.count)
            let next = reader.next()
            #expect(next == nil, "message length \(length)")
        }
        for length in [UInt16(0), 3, 5, 1_000, .max] {
            var bytes: [UInt8] = []
            bytes.appendNative(length)
            bytes.appendNative(UInt16(1))
            var reader = AttributeReader(bytes, in: 0..<4)
            let next = reader.next()
            #expect(next == nil, "attribute length \(length)")
        }
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func mutatedDatagramsNeverTrapNorLoop(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let seeds = [
            Capture.taken, Capture.takenIPv6, Capture.multipathDown, Capture.viaIPv6, Capture.entryExpiring,
            Capture.bridgePortGone, Capture.nexthop, Capture.blackholeIPv6, Capture.linkUp,
        ]
        for _ in 0..<1_500 {
            var bytes = seeds[Int.random(in: 0..<seeds.count, using: &random)]
            if Bool.random(using: &random) { bytes += seeds[Int.random(in: 0..<seeds.count - 1, using: &random)] }
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let at = Int.random(in: 0..<min(bytes.count, 200), using: &random)
                bytes[at] =
                    [0, 1, 3, 4, 255, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
            }
            if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
            var reader = MessageReader(bytes, count: bytes.count)
            var messages = 0
            while let message = reader.next() {
                messages += 1
                _ = Decoder.group(of: message, in: bytes)
                _ = Decoder.route(message, in: bytes)
                _ = Decoder.link(message, in: bytes)
                _ = Decoder.errorNumber(message, in: bytes)
            }
            #expect(messages <= bytes.count / 16, "seed \(seed)")
        }
    }
}

import Bytes
import Netlink
import Reachability
import Testing

private let four = ip("192.0.2.1")
private let six = ip("2001:db8::1")
private let eth0 = LinkInfo(index: 2, name: "eth0", flags: 1, operationalState: 6, parentBus: "pci")

private func unicast(
    _ interface: UInt32, gateway: String? = "10.0.0.1", source: String? = "10.0.0.2", down: Bool = false,
    expires: Duration? = nil
) -> RouteAnswer {
    .route(
        Route(
            kind: .unicast, interface: interface, gateway: gateway.map(ip), source: source.map(ip),
            isLinkDown: down, expiresAfter: expires))
}

private func kernel(_ answer: RouteAnswer, for address: IPAddress = four, links: [LinkInfo] = [eth0]) -> FakeKernel {
    let kernel = FakeKernel()
    kernel.routes[address] = (answer, answer)
    kernel.allLinks = links
    return kernel
}

private func reason(_ verdict: PathVerdict) -> StateReason? {
    guard case .none(let reason, _) = verdict else { return nil }
    return reason
}

struct PathVerdictTests {
    @Test func aUnicastRouteOverAUsableLinkIsACandidate() throws {
        let verdict = try PathVerdict(to: [four], asking: kernel(unicast(2)))
        let path = Path(interface: 2, gateway: ip("10.0.0.1"), source: ip("10.0.0.2"))
        let expected = Candidate(address: four, path: path, interfaceName: "eth0", connectionType: .ethernet)
        #expect(verdict == .usable([expected]))
    }

    @Test(arguments: [
        (RouteAnswer.refused(.noRoute), StateReason.noRoute), (.refused(.unreachable), .noRoute),
        (.refused(.prohibited), .prohibited), (.refused(.blackhole), .blackhole), (.refused(.other(97)), .noRoute),
        (.route(Route(kind: .blackhole, interface: 1)), .blackhole),
        (.route(Route(kind: .unreachable, interface: 1)), .noRoute),
        (.route(Route(kind: .prohibit, interface: 1)), .prohibited),
        (.route(Route(kind: .throw, interface: 1)), .noRoute),
        (.route(Route(kind: .other(3), interface: 2)), .address),
        (unicast(2, down: true), .link), (unicast(9), .link),
    ])
    func tellsWhyThereIsNone(answer: RouteAnswer, expected: StateReason) throws {
        #expect(reason(try PathVerdict(to: [four], asking: kernel(answer))) == expected)
    }

    @Test(arguments: [(UInt32(0), UInt8(6)), (1, 5), (1, 2)])
    func aLinkThatIsNotUpIsNoPath(flags: UInt32, state: UInt8) throws {
        let link = LinkInfo(index: 2, name: "eth0", flags: flags, operationalState: state)
        #expect(reason(try PathVerdict(to: [four], asking: kernel(unicast(2), links: [link]))) == .link)
    }

    /// RTM_GETROUTE answers with a link-local source while no global address is ready.
    @Test func aLinkLocalSourceForAGlobalAddressIsNoPath() throws {
        let answer = unicast(2, gateway: "fe80::1", source: "fe80::2")
        #expect(reason(try PathVerdict(to: [six], asking: kernel(answer, for: six))) == .address)
        let near = ip("fe80::9")
        #expect(reason(try PathVerdict(to: [near], asking: kernel(answer, for: near))) == nil)
    }

    @Test func anAddressOfThisMachineNeedsNoLink() throws {
        let lo = LinkInfo(index: 1, name: "lo", flags: 0, operationalState: 0, hardwareType: 772)
        let answer = RouteAnswer.route(Route(kind: .local, table: 255, interface: 1, source: ip("127.0.0.1")))
        let verdict = try PathVerdict(
            to: [ip("127.0.0.1")], asking: kernel(answer, for: ip("127.0.0.1"), links: [lo]))
        guard case .usable(let candidates) = verdict else { throw NetlinkError.malformed }
        #expect(candidates.map(\.connectionType) == [.loopback])
        #expect(candidates.map(\.path.isLocal) == [true])
    }

    @Test func anyCandidateSufficesAndElseTheMostTellingReasonCounts() throws {
        let kernel = kernel(unicast(2, expires: .seconds(4)))
        guard case .usable(let found) = try PathVerdict(to: [six, four], asking: kernel) else {
            throw NetlinkError.malformed
        }
        #expect(found.map(\.address) == [four])
        #expect(found.map(\.expiresAfter) == [.seconds(4)])
        kernel.routes[four] = (unicast(2, down: true), unicast(2))
        #expect(reason(try PathVerdict(to: [six, four], asking: kernel)) == .link)
        #expect(reason(try PathVerdict(to: [], asking: kernel)) == .noRoute)
    }

    @Test func theDefaultRouteIsAskedForInBothFamilies() throws {
        #expect(PathVerdict.defaultRouteAddresses == [four, six])
    }
}

struct LinkTypingTests {
    private func type(
        of link: LinkInfo, others: [LinkInfo] = [], facts: LinkFacts = LinkFacts(), rules: [LinkTypeRule] = []
    ) throws -> ConnectionType? {
        let kernel = kernel(unicast(link.index), links: [link] + others)
        kernel.sysfs[link.name] = facts
        guard case .usable(let found) = try PathVerdict(to: [four], asking: kernel, rules: rules) else { return nil }
        return found.first?.connectionType
    }

    private func link(_ name: String, kind: String? = nil, hardware: UInt16 = 1, lower: UInt32? = nil) -> LinkInfo {
        LinkInfo(
            index: 7, name: name, flags: 1, operationalState: 6, kind: kind, hardwareType: hardware, lower: lower,
            parentBus: kind == nil ? "pci" : nil)
    }

    @Test(arguments: [
        ("wg0", "wireguard", UInt16(65_534), ConnectionType.vpn), ("tun0", "tun", 65_534, .vpn),
        ("tap0", "tun", 1, .ethernet), ("gre1", "gre", 778, .vpn), ("v0", "veth", 1, .ethernet),
        ("vx", "vxlan", 1, .ethernet), ("wwan0", "wwan", 519, .cellular), ("rmnet0", "rmnet", 519, .cellular),
        ("br0", "bridge", 1, .ethernet), ("eth0.5", "vlan", 1, .ethernet),
    ])
    func byKind(name: String, kind: String, hardware: UInt16, expected: ConnectionType) throws {
        #expect(try type(of: link(name, kind: kind, hardware: hardware)) == expected)
    }

    @Test(arguments: [
        ("eth0", UInt16(1), LinkFacts(), ConnectionType.ethernet), ("wlan0", 1, LinkFacts(deviceType: "wlan"), .wifi),
        ("wlp2s0", 1, LinkFacts(hasRadio: true), .wifi), ("usb0", 1, LinkFacts(deviceType: "wwan"), .cellular),
        ("bnep0", 1, LinkFacts(deviceType: "bluetooth"), .bluetooth), ("wwan0", 1, LinkFacts(), .cellular),
        ("rmnet_data0", 519, LinkFacts(), .cellular), ("lo", 772, LinkFacts(), .loopback),
        ("ppp0", 512, LinkFacts(deviceType: "ppp"), .unknown),
    ])
    func byHardwareAndSysfs(name: String, hardware: UInt16, facts: LinkFacts, expected: ConnectionType) throws {
        #expect(try type(of: link(name, hardware: hardware), facts: facts) == expected)
    }

    @Test func aVLANIsWhatItsTrunkIs() throws {
        let trunk = LinkInfo(index: 3, name: "wlan0", flags: 1, operationalState: 6, kind: "wwan")
        #expect(try type(of: link("wlan0.5", kind: "vlan", lower: 3), others: [trunk]) == .cellular)
    }

    @Test func aBridgeIsWhatItsLivePortIs() throws {
        let dead = LinkInfo(index: 3, name: "a", flags: 0, operationalState: 2, kind: "wireguard", master: 7)
        let live = LinkInfo(index: 4, name: "b", flags: 1, operationalState: 6, kind: "wwan", master: 7)
        #expect(try type(of: link("br0", kind: "bridge"), others: [dead, live]) == .cellular)
    }

    /// A VLAN whose trunk is itself must not be followed for ever.
    @Test func loopsOfLinksEnd() throws {
        #expect(try type(of: link("x", kind: "vlan", lower: 7)) == .unknown)
    }

    @Test func theOwnersRuleWins() throws {
        let rules = [LinkTypeRule(pattern: "usb*", type: .cellular), LinkTypeRule(pattern: "*", type: .wifi)]
        #expect(try type(of: link("usb0"), rules: rules) == .cellular)
        #expect(try type(of: link("eth0", kind: "veth"), rules: rules) == .wifi)
    }

    @Test(arguments: [
        ("wwan*", "wwan0", true), ("wwan*", "wwan", true), ("wwan*", "wlan0", false), ("?", "a", true),
        ("?", "", false), ("*", "", true), ("a*b*c", "axxbyyc", true), ("a*b*c", "axxbyy", false),
        ("*a*a*a", "aaaaaaaaaaaaaaab", false), ("eth0", "eth0", true), ("eth0", "eth01", false), ("", "x", false),
    ])
    func patterns(pattern: String, name: String, matches: Bool) {
        #expect(LinkTypeRule(pattern: pattern, type: .vpn).matches(name) == matches)
    }
}

internal import Bytes
internal import Posix
internal import Reachability
internal import Resolver

/// Two links with a default route each, of which the first that is up is used, and a name server.
struct SimulatedNetwork {
    /// A link and the route that leaves by it.
    struct Link {
        let index: UInt32
        let name: String
        let type: ConnectionType
        var gateway: UInt8 = 1
        var isUp = true
        var carrierChanges: UInt32 = 0
    }

    /// What a name server does with a question.
    enum NameServer: CaseIterable {
        case answering
        case refusing
        case silent
    }

    static let host = "first.example"
    static let hostAddresses = ["203.0.113.10", "203.0.113.11"].compactMap { IPAddress(text: $0) }

    private(set) var links = [
        Link(index: 2, name: "eth0", type: .ethernet), Link(index: 3, name: "wwan0", type: .cellular),
    ]
    var nameServer = NameServer.answering
    /// Whether the name has its second address, too.
    var hasSecondAddress = false

    /// The link that packets leave by; nil while there is no way.
    var active: Link? { links.first { $0.isUp } }

    /// The carrier of a link comes or goes.
    mutating func toggle(_ place: Int) {
        links[place].isUp.toggle()
        links[place].carrierChanges += 1
    }

    /// A link gets another gateway, as after a move to another network.
    mutating func move(_ place: Int) { links[place].gateway = links[place].gateway % 200 + 1 }

    mutating func heal() {
        for place in links.indices where !links[place].isUp { toggle(place) }
        nameServer = .answering
    }

    /// What the kernel says of the way to these addresses.
    func verdict(to addresses: [IPAddress]) -> PathVerdict {
        guard let link = active else { return .none(.noRoute, detail: "no route") }
        return .usable(
            addresses.map { address in
                Candidate(
                    address: address,
                    path: Path(
                        interface: link.index, gateway: IPAddress([10, 0, UInt8(link.index), link.gateway]),
                        source: IPAddress([10, 0, UInt8(link.index), 77])),
                    interfaceName: link.name, connectionType: link.type, carrierChanges: link.carrierChanges)
            })
    }

    /// What a lookup of the name gives now; nil for silence.
    var lookup: LookupResult? {
        guard active != nil else { return .failed(LookupError(text: "no name server is reached")) }
        switch nameServer {
        case .answering: return .addresses(Array(Self.hostAddresses.prefix(hasSecondAddress ? 2 : 1)))
        case .refusing: return .failed(LookupError(text: "no such name"))
        case .silent: return nil
        }
    }
}

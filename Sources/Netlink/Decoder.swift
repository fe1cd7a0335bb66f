internal import Bytes
internal import CLinux

/// Reads rtnetlink messages; what breaks their rules is nil, never a trap.
enum Decoder {
    static let familyIPv4: UInt8 = 2
    static let familyIPv6: UInt8 = 10
    /// USER_HZ, in which the kernel tells when a route expires.
    private static let ticksPerSecond = 100

    /// The group that announces a message; nil where it says nothing of routes, links or addresses.
    ///
    /// Messages on addresses, routes and rules tell their family in the first byte. Those of bridges on their ports
    /// share the type and group of links, and are told by their family, too.
    static func group(of message: Message, in bytes: [UInt8]) -> MulticastGroup? {
        guard let first = message.body.first else { return nil }
        let isIPv6 = bytes[first] == familyIPv6
        switch Int(message.type) {
        case Int(RTM_NEWLINK), Int(RTM_DELLINK): return bytes[first] == 0 ? .link : nil
        case Int(RTM_NEWADDR), Int(RTM_DELADDR): return isIPv6 ? .ipv6Address : .ipv4Address
        case Int(RTM_NEWROUTE), Int(RTM_DELROUTE): return isIPv6 ? .ipv6Route : .ipv4Route
        case Int(RTM_NEWRULE), Int(RTM_DELRULE): return isIPv6 ? .ipv6Rule : .ipv4Rule
        case Int(RTM_NEWNEXTHOP), Int(RTM_DELNEXTHOP): return .nexthop
        default: return nil
        }
    }

    /// The error number of NLMSG_ERROR, positive; 0 is an acknowledgement.
    static func errorNumber(_ message: Message, in bytes: [UInt8]) -> Int32? {
        guard message.body.count >= 4 else { return nil }
        let value = bytes.loadNative(at: message.body.lowerBound, as: Int32.self)
        return value <= 0 && value > .min ? -value : nil
    }
}

// Routes: `struct rtmsg`, 12 bytes, then attributes.
extension Decoder {
    private static let routeHeaderSize = 12

    private struct RouteAttributes {
        var table: UInt32?
        var interface: UInt32 = 0
        var gateway: IPAddress?
        var source: IPAddress?
        var nexthopID: UInt32?
        var expiry: Int32 = 0
        var hopFlags: [UInt8] = []
    }

    /// Reads the body of RTM_NEWROUTE.
    static func route(_ message: Message, in bytes: [UInt8]) -> Route? {
        let start = message.body.lowerBound
        guard message.body.count >= routeHeaderSize else { return nil }
        let flags = bytes.loadNative(at: start + 8, as: UInt32.self)
        var found = RouteAttributes()
        var reader = AttributeReader(bytes, in: start + routeHeaderSize..<message.body.upperBound)
        while let attribute = reader.next() { read(attribute, of: bytes, into: &found) }
        let down = UInt8(RTNH_F_DEAD | RTNH_F_LINKDOWN)
        let allHopsDown = !found.hopFlags.isEmpty && found.hopFlags.allSatisfy { $0 & down != 0 }
        return Route(
            kind: kind(bytes[start + 7]),
            table: found.table ?? UInt32(bytes[start + 4]),
            interface: found.interface,
            gateway: found.gateway,
            source: found.source,
            isLinkDown: flags & UInt32(down) != 0 || allHopsDown,
            nexthopID: found.nexthopID,
            expiresAfter: found.expiry == 0
                ? nil : .milliseconds(max(0, Int(found.expiry)) * 1_000 / ticksPerSecond))
    }

    private static func read(_ attribute: Attribute, of bytes: [UInt8], into found: inout RouteAttributes) {
        let value = attribute.value
        switch attribute.type {
        case Int(RTA_TABLE.rawValue): found.table = bytes.native(value, as: UInt32.self)
        case Int(RTA_OIF.rawValue): found.interface = bytes.native(value, as: UInt32.self) ?? 0
        case Int(RTA_GATEWAY.rawValue): found.gateway = IPAddress([UInt8](bytes[value]))
        case Int(RTA_VIA.rawValue): found.gateway = IPAddress([UInt8](bytes[value].dropFirst(2)))
        case Int(RTA_PREFSRC.rawValue): found.source = IPAddress([UInt8](bytes[value]))
        case Int(RTA_NH_ID.rawValue): found.nexthopID = bytes.native(value, as: UInt32.self)
        case Int(RTA_CACHEINFO.rawValue) where value.count >= 12:
            found.expiry = bytes.loadNative(at: value.lowerBound + 8, as: Int32.self)
        case Int(RTA_MULTIPATH.rawValue): found.hopFlags = hopFlags(bytes, in: value)
        default: break
        }
    }

    /// The flags of each `struct rtnexthop` (8 bytes: length 2, flags 1, weight 1, link 4; then attributes).
    private static func hopFlags(_ bytes: [UInt8], in range: Range<Int>) -> [UInt8] {
        var flags: [UInt8] = []
        var offset = range.lowerBound
        while range.upperBound - offset >= 8 {
            let length = Int(bytes.loadNative(at: offset, as: UInt16.self))
            guard length >= 8, length <= range.upperBound - offset else { break }
            flags.append(bytes[offset + 2])
            offset += roundedUp(length, to: 4)
        }
        return flags
    }

    private static func kind(_ type: UInt8) -> Route.Kind {
        switch Int(type) {
        case Int(RTN_UNICAST): .unicast
        case Int(RTN_LOCAL): .local
        case Int(RTN_BLACKHOLE): .blackhole
        case Int(RTN_UNREACHABLE): .unreachable
        case Int(RTN_PROHIBIT): .prohibit
        case Int(RTN_THROW): .throw
        default: .other(type)
        }
    }
}

// Links: `struct ifinfomsg`, 16 bytes, then attributes.
extension Decoder {
    private static let linkHeaderSize = 16

    private struct LinkAttributes {
        var name = ""
        var operationalState: UInt8 = 0
        var kind: String?
        var lower: UInt32?
        var lowerIsElsewhere = false
        var master: UInt32?
        var carrierChanges: UInt32 = 0
        var parentBus: String?
    }

    /// Reads the body of RTM_NEWLINK.
    static func link(_ message: Message, in bytes: [UInt8]) -> LinkInfo? {
        let start = message.body.lowerBound
        guard message.body.count >= linkHeaderSize, bytes[start] == 0 else { return nil }
        var found = LinkAttributes()
        var reader = AttributeReader(bytes, in: start + linkHeaderSize..<message.body.upperBound)
        while let attribute = reader.next() { read(attribute, of: bytes, into: &found) }
        return LinkInfo(
            index: bytes.loadNative(at: start + 4, as: UInt32.self),
            name: found.name,
            flags: bytes.loadNative(at: start + 8, as: UInt32.self),
            operationalState: found.operationalState,
            kind: found.kind,
            hardwareType: bytes.loadNative(at: start + 2, as: UInt16.self),
            lower: found.lowerIsElsewhere ? nil : found.lower,
            master: found.master,
            carrierChanges: found.carrierChanges,
            parentBus: found.parentBus)
    }

    private static func read(_ attribute: Attribute, of bytes: [UInt8], into found: inout LinkAttributes) {
        let value = attribute.value
        switch attribute.type {
        case Int(IFLA_IFNAME): found.name = text(bytes, in: value)
        case Int(IFLA_OPERSTATE): found.operationalState = bytes.native(value, as: UInt8.self) ?? 0
        case Int(IFLA_LINK): found.lower = bytes.native(value, as: UInt32.self)
        case Int(IFLA_LINK_NETNSID): found.lowerIsElsewhere = true
        case Int(IFLA_MASTER): found.master = bytes.native(value, as: UInt32.self)
        case Int(IFLA_CARRIER_CHANGES): found.carrierChanges = bytes.native(value, as: UInt32.self) ?? 0
        case Int(IFLA_PARENT_DEV_BUS_NAME): found.parentBus = text(bytes, in: value)
        case Int(IFLA_LINKINFO):
            var nested = AttributeReader(bytes, in: value)
            while let inner = nested.next() {
                if inner.type == Int(IFLA_INFO_KIND) { found.kind = text(bytes, in: inner.value) }
            }
        default: break
        }
    }

    /// Text up to the first zero byte.
    private static func text(_ bytes: [UInt8], in range: Range<Int>) -> String {
        [UInt8](bytes[range].prefix { $0 != 0 }).text
    }
}

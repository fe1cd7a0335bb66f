internal import CLinux

/// A group of messages that the kernel sends by itself (RTNLGRP_* of linux/rtnetlink.h).
package enum MulticastGroup: String, Sendable, CaseIterable {
    case link
    case ipv4Address = "ipv4-address"
    case ipv6Address = "ipv6-address"
    case ipv4Route = "ipv4-route"
    case ipv6Route = "ipv6-route"
    case ipv4Rule = "ipv4-rule"
    case ipv6Rule = "ipv6-rule"
    case nexthop

    var number: UInt32 {
        switch self {
        case .link: RTNLGRP_LINK.rawValue
        case .ipv4Address: RTNLGRP_IPV4_IFADDR.rawValue
        case .ipv6Address: RTNLGRP_IPV6_IFADDR.rawValue
        case .ipv4Route: RTNLGRP_IPV4_ROUTE.rawValue
        case .ipv6Route: RTNLGRP_IPV6_ROUTE.rawValue
        case .ipv4Rule: RTNLGRP_IPV4_RULE.rawValue
        case .ipv6Rule: RTNLGRP_IPV6_RULE.rawValue
        case .nexthop: RTNLGRP_NEXTHOP.rawValue
        }
    }
}

internal import Netlink

extension RouteAnswer {
    /// The kernel's answer in the words of ip-route(8): `unicast via 192.0.2.1 src 192.0.2.7 table 254`.
    var words: String {
        switch self {
        case .refused(.noRoute): "no route (ENETUNREACH)"
        case .refused(.unreachable): "unreachable (EHOSTUNREACH)"
        case .refused(.prohibited): "prohibit (EACCES)"
        case .refused(.blackhole): "blackhole (EINVAL)"
        case .refused(.other(let number)): "error \(number)"
        case .route(let route): route.words
        }
    }
}

extension Route {
    fileprivate var words: String {
        let parts = [
            kind.word, gateway.map { "via \($0)" }, source.map { "src \($0)" }, "table \(table)",
            nexthopID.map { "nhid \($0)" }, expiresAfter.map { "expires \($0.components.seconds)sec" },
            isLinkDown ? "linkdown" : nil,
        ]
        return parts.compactMap { $0 }.joined(separator: " ")
    }
}

extension Route.Kind {
    fileprivate var word: String {
        switch self {
        case .unicast: "unicast"
        case .local: "local"
        case .blackhole: "blackhole"
        case .unreachable: "unreachable"
        case .prohibit: "prohibit"
        case .throw: "throw"
        case .other(let number): "type \(number)"
        }
    }
}

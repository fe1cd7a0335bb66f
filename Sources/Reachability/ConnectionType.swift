/// What kind of link a route leaves by; the raw values stand on disk.
package enum ConnectionType: UInt8, Sendable, CaseIterable {
    case unknown = 0
    case none = 1
    case ethernet = 2
    case wifi = 3
    case cellular = 4
    case vpn = 5
    case bluetooth = 6
    case loopback = 7

    /// The value of `network_connection_type`.
    package var name: String { "\(self)" }

    /// The type of that name; nil where there is none.
    package init?(name: String) {
        guard let type = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = type
    }
}

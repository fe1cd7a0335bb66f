package import Bytes
package import Delivery
package import Reachability
internal import Time

/// One destination: the way to it and the delivery to it, side by side.
package struct DestinationUnit: Sendable {
    /// The way to it.
    package internal(set) var reachability: ReachabilityMachine
    /// The delivery to it.
    package internal(set) var delivery: Destination
    /// The addresses known of its host; a literal's own from the start.
    package internal(set) var addresses: [IPAddress]

    package init(reachability: ReachabilityMachine, delivery: Destination) {
        self.reachability = reachability
        self.delivery = delivery
        addresses = IPAddress(text: delivery.settings.url.host).map { [$0] } ?? []
    }

    /// Its name.
    package var name: String { delivery.settings.name }

    /// The name to look up; nil for a Unix socket and for a literal address.
    var lookupHost: String? {
        let url = delivery.settings.url
        return url.scheme == .unix || IPAddress(text: url.host) != nil ? nil : url.host
    }

    /// Where to connect: the addresses that a path leads to, in their order.
    var reachableAddresses: [IPAddress] {
        guard let first = reachability.candidate?.address else { return addresses }
        return [first] + addresses.filter { $0 != first }
    }

    /// When one of its machines wants its timer handled.
    var deadline: Instant? { [reachability.deadline, delivery.deadline].compactMap { $0 }.min() }
}

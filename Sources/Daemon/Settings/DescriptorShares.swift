internal import HTTPTransport
internal import Intake

/// How the process's descriptors (RLIMIT_NOFILE) are shared, so that neither clients nor destinations leave the
/// control socket and the queue's files without.
struct DescriptorShares {
    /// What the daemon itself has open, and what reading its configuration and asking for an address takes for a
    /// moment.
    private static let own = 17
    /// Clients of the control socket.
    private static let control = 3
    /// The files of three logs, and one more.
    private static let queue = 11
    /// From here on an eighth of what is more goes to the queue, which has files for each consent category.
    private static let ample = 48
    /// For 16 destinations and two that are given up or looked at.
    private static let mostForDelivery = 18 * CurlTransport.descriptorsADestination

    /// What the process may have open in all.
    let limit: Int
    /// For connections to destinations.
    let delivery: Int
    /// For local clients.
    let clients: Int

    init(limit: Int) {
        self.limit = limit
        let queue = Self.queue + max(0, limit - Self.ample) / 8
        let left = max(0, limit - Self.own - Self.control - queue)
        let one = CurlTransport.descriptorsADestination
        delivery = min(Self.mostForDelivery, max(one, left / 2 / one * one))
        clients = max(2, left - delivery)
    }

    /// The least limit that leaves room for so many clients.
    static func limit(forClients clients: Int) -> Int {
        (clients + mostForDelivery + own + control + queue) * 8 / 7 + 1
    }

    /// Takes down what intake may have, if it is too much; true where it was.
    func bound(_ limits: inout IntakeLimits) -> Bool {
        let turnedAway = min(limits.maximumTurnedAway, max(1, clients / 4))
        guard clients - turnedAway < limits.maximumConnections else { return false }
        limits.maximumTurnedAway = turnedAway
        limits.maximumConnections = clients - turnedAway
        return true
    }
}

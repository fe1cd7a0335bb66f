package import Time

/// The gates of one destination: which are closed, and since when.
///
/// A destination of which nothing is known yet (from the start until its first check ended) has its connectivity gate
/// open: nothing is sent to it, but that marks nothing.
package struct Gates: Sendable {
    private var closedSince: [Gate: Instant] = [:]

    /// All gates open.
    package init() {}

    /// The closed gate that counts, by the order of `Gate`'s raw values; nil where all are open.
    package var current: Gate? { closedSince.keys.min { $0.rawValue < $1.rawValue } }

    /// The closed gates, in the order of their raw values.
    package var closed: [Gate] { closedSince.keys.sorted { $0.rawValue < $1.rawValue } }

    /// True where that gate is closed.
    package func isClosed(_ gate: Gate) -> Bool { closedSince[gate] != nil }

    /// When a gate closed; nil where it is open.
    package func since(_ gate: Gate) -> Instant? { closedSince[gate] }

    /// Closes or opens a gate; returns false where it is so already.
    package mutating func set(_ gate: Gate, closed: Bool, at now: Instant) -> Bool {
        guard isClosed(gate) != closed else { return false }
        closedSince[gate] = closed ? now : nil
        return true
    }
}

package import Time

/// The gates of one destination: which are closed, since when, and which waiting events that marks.
///
/// A destination of which nothing is known yet (see `isKnown`) sends nothing, but that closes no gate and marks nothing.
package struct Gates: Sendable {
    /// When each closed gate closed.
    private var closedSince: [Gate: Instant] = [:]
    /// False from the start until the first check ended.
    package private(set) var isKnown = false

    /// All gates open, nothing known.
    package init() {}

    /// The closed gate that counts, by the order of `Gate`'s raw values; nil where all are open.
    package var current: Gate? { closedSince.keys.min { $0.rawValue < $1.rawValue } }

    /// True where that gate is closed.
    package func isClosed(_ gate: Gate) -> Bool { closedSince[gate] != nil }

    /// When a gate closed; nil where it is open.
    package func since(_ gate: Gate) -> Instant? { closedSince[gate] }

    /// Closes a gate and returns true; returns false where it is closed already.
    package mutating func close(_ gate: Gate, at now: Instant) -> Bool {
        if gate == .connectivity { isKnown = true }
        guard closedSince[gate] == nil else { return false }
        closedSince[gate] = now
        return true
    }

    /// Opens a gate and returns true; returns false where it is open already.
    package mutating func open(_ gate: Gate) -> Bool {
        if gate == .connectivity { isKnown = true }
        return closedSince.removeValue(forKey: gate) != nil
    }
}

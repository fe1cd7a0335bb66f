package import Time

/// Gathers the marks of a burst of changes: due 250 ms after the last mark, at most 1 s after the first.
package struct Settle: Sendable {
    private static let quiet = Duration.milliseconds(250)
    private static let limit = Duration.seconds(1)

    private var first: Instant?
    private var last: Instant?

    /// Nothing marked.
    package init() {}

    /// Notes that something changed.
    package mutating func mark(at now: Instant) {
        if first == nil { first = now }
        last = now
    }

    /// When to look; nil while nothing is marked.
    package var due: Instant? {
        guard let first, let last else { return nil }
        return min(first + Self.limit, last + Self.quiet)
    }

    /// True, once, when it is time to look.
    package mutating func take(at now: Instant) -> Bool {
        guard let due, due <= now else { return false }
        first = nil
        last = nil
        return true
    }
}

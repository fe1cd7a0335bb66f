/// What is known of the way to a destination; the raw values are what users see.
package enum DestinationState: String, Sendable, CaseIterable {
    /// Not looked yet.
    case unknown
    /// The kernel has no usable route to any of its addresses.
    case noPath = "no-path"
    /// A route is there; whether the destination answers is being found out.
    case verifying
    /// A route is there, but no answer came.
    case unreachable
    /// Something else answers in its place.
    case portal
    /// It has answered.
    case reachable
}

/// Why a destination is in its state; the raw values are what users see.
package enum StateReason: String, Sendable, CaseIterable {
    case none
    case start
    case noRoute = "no-route"
    case link
    case blackhole
    case prohibited
    case address
    case dns
    case refused
    case timeout
    case reset
    case tls
    case proxy
    case portal
    case unauthorized
    case notFound = "not-found"
    case redirect
    case refusing
    case rejected
    case throttled
    case `operator`
    case storage
    case policy
    case consent
    case shutdown
}

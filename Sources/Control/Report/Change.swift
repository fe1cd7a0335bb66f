/// Something that changed, as `GET /v1/watch` tells it in a line of JSON.
package struct Change: Sendable, Equatable {
    /// What it is about; the raw values are what users see.
    package enum Kind: String, Sendable {
        /// A destination's state, or the reason of it.
        case state
        /// The gate that keeps a destination's events.
        case gate
        /// The type of the machine's link.
        case network
        /// A destination holds, throttles, or has all that waited.
        case delivery
        /// The state of the storage.
        case storage
        /// The state of a consent category, which `detail` names.
        case consent
        /// A reload.
        case configuration
        /// The daemon stops; nothing follows.
        case daemon
    }

    package let kind: Kind
    /// Nil where it is about the machine.
    package var destination: String?
    package var from: String?
    package var to: String?
    package var reason: String?
    /// Words for people; may quote the collector, so they are not to be trusted.
    package var detail: String?
    /// What brought it about: `start`, `reload`, `check`, `answer`, `timer`, `lookup`, `resume`, `operator`, `storage`,
    /// or `kernel` with groups.
    package var cause: String?

    package init(_ kind: Kind) { self.kind = kind }
}

/// `[Reachability]`: how the way to the destinations is watched.
package struct ReachabilitySection: Sendable, Equatable {
    /// Interfaces that are given a connection type.
    package struct InterfaceType: Sendable, Equatable {
        /// A name, with `*` and `?` as in a shell.
        package let pattern: String
        /// The name of a connection type.
        package let type: String
    }

    /// False: no packet is sent only to find out.
    package var check = true
    package var checkInterval: Duration = .seconds(30)
    package var interfaceTypes: [InterfaceType] = []

    /// The defaults.
    package init() {}
}

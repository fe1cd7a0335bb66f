internal import Configuration
internal import Reachability

extension ReachabilitySettings {
    /// How the configuration wants destinations to be watched.
    init(_ loaded: LoadedSettings) {
        self.init(
            checks: loaded.configuration?.reachability.check ?? true,
            checkInterval: loaded.configuration?.reachability.checkInterval ?? .seconds(30))
    }
}

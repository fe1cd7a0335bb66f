internal import Configuration
internal import Intake

extension IntakeLimits {
    /// The limits that the configuration sets.
    init(_ loaded: LoadedSettings) {
        self.init()
        guard let section = loaded.configuration?.intake else { return }
        maximumEventBytes = section.maximumEventBytes
        maximumRequestBytes = section.maximumRequestBytes
        maximumConnections = section.maximumConnections
        maximumConnectionsPerUser = section.maximumConnectionsPerUser
        idleTimeout = section.idleTimeout
    }
}

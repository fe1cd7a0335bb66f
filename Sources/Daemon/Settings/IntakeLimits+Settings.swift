internal import Configuration
internal import Intake
internal import Queue

extension IntakeLimits {
    /// The limits that the configuration sets.
    init(_ loaded: LoadedSettings) {
        self.init()
        guard let configuration = loaded.configuration else { return }
        let section = configuration.intake
        queueRoom = QueueRoom(QueueSettings(configuration).options)
        maximumEventBytes = section.maximumEventBytes
        maximumRequestBytes = section.maximumRequestBytes
        maximumConnections = section.maximumConnections
        maximumConnectionsPerUser = section.maximumConnectionsPerUser
        idleTimeout = section.idleTimeout
    }
}

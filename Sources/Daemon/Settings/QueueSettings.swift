internal import Configuration
internal import Queue

/// What the disk's thread needs to open the queue.
struct QueueSettings: Sendable {
    let directory: String
    let options: QueueOptions
    let destinations: [String]

    init(_ configuration: Configuration) {
        let section = configuration.queue
        directory = section.directory
        let keepFree: QueueOptions.KeepFree =
            switch section.keepFree {
            case .percent(let share): .percent(UInt64(share))
            case .bytes(let bytes): .bytes(UInt64(bytes))
            }
        let block: Int? =
            switch section.block {
            case .automatic: nil
            case .bytes(let bytes): bytes
            }
        var options = QueueOptions(maximumBytes: UInt64(section.maximumBytes), keepFree: keepFree, block: block)
        options.maximumAge = section.maximumAge
        options.whenFull = section.whenFull == .dropOldest ? .dropOldest : .reject
        options.largestEventBytes = configuration.intake.maximumEventBytes
        self.options = options
        destinations = configuration.destinations.map(\.name)
    }
}

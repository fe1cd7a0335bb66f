internal import Bytes
internal import Delivery
internal import Queue
internal import Reachability
internal import Time

/// What a seed decides once: the configuration, and how rough the time is.
struct SimulationSettings {
    let destinations: [DestinationSettings]
    let reachability: ReachabilitySettings
    let queue: QueueOptions
    /// How long the time with faults is.
    let length: Duration
    /// How often the world changes: the mean time between two changes of one kind.
    let pace: Duration
    /// Mean time between two crashes.
    let crashes: Duration
    let hasDiskErrors: Bool

    init(_ random: inout SplitMix64) {
        func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
        let urls = ["https://\(SimulatedNetwork.host)/events", "http://198.51.100.7:8080/in"]
        var destinations: [DestinationSettings] = []
        for (index, text) in urls.enumerated() {
            guard let url = try? DestinationURL(text) else { preconditionFailure("a URL that is none") }
            var settings = DestinationSettings(name: index == 0 ? "first" : "second", url: url)
            settings.format = DestinationSettings.Format.allCases.randomElement(using: &random) ?? .json
            settings.batchMaximumEvents = Int.random(in: 1...8, using: &random)
            settings.batchMaximumBytes = chance(30) ? 1_024 : 65_536
            settings.retryMaximum = .seconds(Int.random(in: 2...120, using: &random))
            settings.flushSpread = chance(40) ? .fixed(.zero) : .automatic
            if index == 1 {
                settings.allowsPlainHTTP = true
                settings.expectHeader = try? DestinationSettings.ExpectedHeader("X-Collector: yes")
            }
            destinations.append(settings)
        }
        self.destinations = destinations
        reachability = ReachabilitySettings(
            checks: !chance(12), checkInterval: .seconds(chance(50) ? 30 : Int.random(in: 3...60, using: &random)))
        var options = QueueOptions(
            maximumBytes: chance(20) ? 256 << 10 : 4 << 20, keepFree: .bytes(0), block: 512)
        options.firstSegmentBytes = 4 << 10
        options.segmentBytes = 8 << 10
        queue = options
        length = .seconds(Int.random(in: 60...300, using: &random))
        pace = .seconds(Int.random(in: 4...60, using: &random))
        crashes = .seconds(Int.random(in: 8...120, using: &random))
        hasDiskErrors = chance(35)
    }
}

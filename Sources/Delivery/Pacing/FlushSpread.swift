internal import Bytes
internal import Reachability
internal import Time

extension DestinationSettings.FlushSpread {
    /// How long what follows the first batch waits: after an outage of the own link only this machine comes back, after
    /// one of the collector every machine does.
    func delay(after outage: Outage, _ random: inout SplitMix64) -> Duration {
        let bound: Duration =
            switch self {
            case .fixed(let span): span
            case .automatic:
                switch outage.cause {
                case .ownLink: .seconds(2)
                case .destination: min(outage.duration / 4, .seconds(600))
                case .start: min(outage.duration / 4, .seconds(2))
                }
            }
        return random.duration(in: .zero...max(.zero, bound))
    }
}

import Posix
import Simulator
import Testing

@Suite struct SimulationTests {
    static var seeds: Range<UInt64> {
        if let one = Process.environment("UPLINKD_SIM_SEED").flatMap({ UInt64($0) }) { return one..<(one + 1) }
        return 0..<(Process.environment("UPLINKD_SIM_SEEDS").flatMap { UInt64($0) } ?? 40)
    }

    @Test func `the promise holds whatever happens`() {
        var tally = Simulation.Tally()
        for seed in Self.seeds {
            let simulation = Simulation(seed: seed)
            do {
                try simulation.run()
            } catch {
                let replay = Simulation(seed: seed, tracing: true)
                try? replay.run()
                Issue.record("UPLINKD_SIM_SEED=\(seed): \(error)\n\(replay.trace.joined(separator: "\n"))")
                return
            }
            tally += simulation.tally
        }
        try? StandardStream.error.write(Array("\(tally)\n".utf8))
    }
}

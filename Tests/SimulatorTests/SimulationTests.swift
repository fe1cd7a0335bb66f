import Posix
import Simulator
import Testing
import Time

@Suite struct SimulationTests {
    static var seeds: Range<UInt64> {
        if let one = Process.environment("UPLINKD_SIM_SEED").flatMap({ UInt64($0) }) { return one..<(one + 1) }
        return 0..<(Process.environment("UPLINKD_SIM_SEEDS").flatMap { UInt64($0) } ?? 24)
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
        let words = [
            "\(tally.seeds) seeds", "\(tally.steps) steps", "\(tally.crashes) crashes",
            "\(tally.acknowledged) of \(tally.posts) events accepted", "\(tally.requests) requests",
            "\(tally.repeats) repeats", "\(Int(tally.virtualTime.inSeconds)) virtual seconds",
        ]
        let unseen = ConsentCase.allCases.filter { tally.consentCases[$0] == nil }
        #expect(unseen.isEmpty || tally.seeds < 24, "\(unseen) never came up")
        try? StandardStream.error.write(Array("simulated: \(words.joined(separator: ", "))\n".utf8))
    }

    @Test func `a disk that lies about syncs is caught`() {
        let caught = (UInt64(0)..<6).count { seed in
            do {
                try Simulation(seed: seed, ignoringSyncs: true).run()
                return false
            } catch {
                return true
            }
        }
        #expect(caught >= 5, "only \(caught) of 6 seeds see that events are lost")
    }
}

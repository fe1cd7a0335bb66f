internal import Posix
internal import Testing

@Suite struct QueueModelTests {
    /// The seeds of this run.
    static var seeds: Range<UInt64> {
        if let one = Process.environment("UPLINKD_MODEL_SEED").flatMap({ UInt64($0) }) { return one..<(one + 1) }
        let count = Process.environment("UPLINKD_MODEL_SEEDS").flatMap { UInt64($0) } ?? 400
        return 0..<count
    }

    @Test func `the rules keep the promise`() throws {
        var crashes = 0
        for seed in Self.seeds {
            var scenario = try Scenario(seed: seed)
            do {
                try scenario.run(operations: 80)
            } catch {
                let trace = Trace()
                var replay = try Scenario(seed: seed, trace: trace)
                try? replay.run(operations: 80)
                Issue.record("seed \(seed): \(error)\n\(trace.text)")
                return
            }
            crashes += scenario.crashes
        }
        #expect(Self.seeds.count < 100 || crashes > Self.seeds.count, "too few crashes to mean anything")
    }

    @Test func `a crash at every durable step keeps the promise`() throws {
        for seed in Self.seeds.prefix(max(6, Self.seeds.count / 60)) {
            var hasCrashed = true
            var step = 0
            while hasCrashed {
                do {
                    var scenario = try Scenario(seed: seed)
                    hasCrashed = try scenario.run(operations: 40, crashStep: step)
                } catch {
                    let trace = Trace()
                    var replay = try Scenario(seed: seed, trace: trace)
                    _ = try? replay.run(operations: 40, crashStep: step)
                    Issue.record("seed \(seed), step \(step): \(error)\n\(trace.text)")
                    return
                }
                step += 1
            }
        }
    }

    @Test(arguments: Variant.allCases) func `a broken rule is found`(_ variant: Variant) throws {
        let found = (0..<400).contains { seed in
            do {
                var scenario = try Scenario(seed: UInt64(seed), variant: variant)
                try scenario.run(operations: 80)
                return false
            } catch {
                return true
            }
        }
        #expect(found, "\(variant) passes")
    }
}

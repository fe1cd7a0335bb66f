internal import Posix
internal import Testing

extension Scenario {
    /// A line on standard error, for replays.
    static func write(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = bytes.count
    }
}

@Suite struct QueueModelTests {
    /// The seeds of this run.
    static var seeds: Range<UInt64> {
        if let one = Process.environment("UPLINKD_MODEL_SEED").flatMap({ UInt64($0) }) { return one..<(one + 1) }
        let count = Process.environment("UPLINKD_MODEL_SEEDS").flatMap { UInt64($0) } ?? 300
        return 0..<count
    }

    @Test func `the rules keep the promise`() throws {
        var crashes = 0
        for seed in Self.seeds {
            var scenario = try Scenario(seed: seed)
            scenario.isTracing = Self.seeds.count == 1
            do {
                try scenario.run(operations: 80)
            } catch {
                Issue.record("seed \(seed): \(error)")
                return
            }
            crashes += scenario.crashes
        }
        #expect(Self.seeds.count < 100 || crashes > Self.seeds.count, "too few crashes to mean anything")
    }

    @Test func `a crash at every durable step keeps the promise`() throws {
        for seed in Self.seeds.prefix(12) {
            var step = 12
            while true {
                step += 1
                var scenario = try Scenario(seed: seed)
                do {
                    guard try scenario.run(operations: 40, crashStep: step) else { break }
                } catch {
                    Issue.record("seed \(seed), step \(step): \(error)")
                    return
                }
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

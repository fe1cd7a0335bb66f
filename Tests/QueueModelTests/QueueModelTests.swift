internal import Posix
internal import QueueSimulator
internal import Testing

@Suite struct QueueModelTests {
    /// A planted fault must be found within so many seeds.
    private static let seedsToFind: UInt64 = 200
    private static let operations = 120

    /// The seeds of this run.
    static var seeds: Range<UInt64> {
        if let one = Process.environment("UPLINKD_MODEL_SEED").flatMap({ UInt64($0) }) { return one..<(one + 1) }
        return 0..<(Process.environment("UPLINKD_MODEL_SEEDS").flatMap { UInt64($0) } ?? 100)
    }

    @Test func `a crash at every durable step keeps the promise`() {
        for seed in Self.seeds.prefix(max(6, Self.seeds.count / 30)) {
            let life = QueueLife(seed: seed, of: .model)
            var step = 0
            while let result = life.run(operations: 40, crashStep: step) {
                if case .broken(let what, _) = result {
                    Issue.record("seed \(seed), step \(step): \(what)")
                    return
                }
                step += 1
            }
        }
    }

    @Test(arguments: Variant.allCases) func `a broken rule is found`(_ variant: Variant) {
        let found = (0..<Self.seedsToFind).first { seed in
            if case .broken = QueueLife(seed: seed, breaking: variant).run(operations: Self.operations) { return true }
            return false
        }
        #expect(found != nil, "\(variant) passes")
    }
}

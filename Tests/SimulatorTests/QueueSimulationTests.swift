import QueueSimulator
import Testing

/// A few of the seeds that `queue-simulation` runs by the thousand, here with every check that a debug build has.
@Suite struct QueueSimulationTests {
    @Test func `model and real queue keep the same promise`() {
        for seed in UInt64(0)..<3 {
            for subject in [QueueLife.Subject.real, .model] {
                let life = QueueLife(seed: seed, of: subject)
                guard case .broken(let what, _) = life.run(operations: 60) else { continue }
                var trace: [String] = []
                _ = life.run(operations: 60) { trace.append($0) }
                Issue.record("\(subject), seed \(seed): \(what)\n\(trace.suffix(80).joined(separator: "\n"))")
            }
        }
    }
}

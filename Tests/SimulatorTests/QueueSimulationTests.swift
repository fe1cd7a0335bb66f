import Posix
import Queue
import Simulator
import Testing

@Suite struct QueueSimulationTests {
    static var seeds: Range<UInt64> {
        if let one = Process.environment("UPLINKD_MODEL_SEED").flatMap({ UInt64($0) }) { return one..<(one + 1) }
        return 0..<(Process.environment("UPLINKD_MODEL_SEEDS").flatMap { UInt64($0) } ?? 30)
    }

    /// Runs the seeds; the first that breaks the promise is an issue.
    private func run(_ faults: QueueLife.Faults, operations: Int = 60) throws {
        for seed in Self.seeds {
            let life = try QueueLife(seed: seed, faults: faults)
            do {
                try life.run(operations: operations)
            } catch {
                for path in life.disk.files {
                    let c = life.disk.contents(of: path)
                    life.note("FILE \(path) \(c.count) used \((c.lastIndex { $0 != 0 } ?? -1) + 1)")
                }
                let trace = life.trace.suffix(60).joined(separator: "\n")
                Issue.record("seed \(seed): \(error)\n\(trace)")
                return
            }
        }
    }

    @Test func `crashes keep the promise`() throws { try run(.init(errors: false, damage: false)) }

    @Test func `errors keep the promise`() throws { try run(.init(damage: false)) }

    @Test func `a flipped byte costs at most one event`() throws { try run(.init(errors: false)) }

    @Test func `all faults at once keep the promise`() throws { try run(.init()) }

    @Test func `a disk that lies about syncs is caught`() throws {
        let faults = QueueLife.Faults(errors: false, damage: false, liesAboutSyncs: true)
        let caught = try (0..<30).count { seed in
            let life = try QueueLife(seed: UInt64(seed), faults: faults)
            do {
                try life.run(operations: 60)
                return false
            } catch let broken as QueueLife.Broken {
                return broken.kind == .lost
            } catch {
                return false
            }
        }
        #expect(caught >= 15, "only \(caught) of 30 seeds lose an acknowledged event")
    }

    @Test func `what one sync made durable again outlives the next failure`() throws {
        for seed in UInt64(0)..<20 {
            let life = try QueueLife(seed: seed, faults: .init(errors: false, damage: false, crashesInCalls: false))
            life.commit(to: QueueLife.logs)
            for _ in 0..<3 {
                life.disk.failingSyncs = 1
                life.commit(to: [.normal])
            }
            try life.restart(after: .powerCut)
        }
    }
}

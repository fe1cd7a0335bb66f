internal import Bytes

/// One seed: a life of a queue, of the model or the real one, held against what was promised.
package struct QueueLife {
    /// How a life ended.
    package enum Result {
        case kept(QueueTally)
        /// The promise was broken; `isLoss` where an acknowledged event is gone.
        case broken(String, isLoss: Bool)
    }

    /// What lives.
    package enum Subject: Sendable { case real, model }

    private let seed: UInt64
    private let subject: Subject
    private var plan: FaultPlan

    /// The same seed gives the same life, with all faults that it happens to have but for those named.
    package init(seed: UInt64, of subject: Subject, without names: Set<String> = []) {
        self.seed = seed
        self.subject = subject
        var random = SplitMix64(seed: seed ^ 0x91A4)
        plan = FaultPlan()
        let hasErrors = random.next() % 3 > 0
        let hasDamage = random.next() % 3 > 0
        plan.faults = Set(
            InjectedFault.allCases.filter { ($0.damages ? hasDamage : hasErrors) && !names.contains("\($0)") })
    }

    /// A life without faults but for the crashes, on a disk whose syncs do nothing.
    package init(ignoringSyncs seed: UInt64) {
        self.init(seed: seed, of: .real)
        plan = FaultPlan(liesAboutSyncs: true)
    }

    /// A life of the model with a rule broken on purpose.
    package init(seed: UInt64, breaking variant: Variant) {
        self.init(seed: seed, of: .model)
        plan.variant = variant
    }

    /// Lives through it; `trace` is told of everything that is done.
    package func run(operations: Int, trace: ((String) -> Void)? = nil) -> Result {
        switch subject {
        case .real: run(QueueScenario<RealQueue>(seed: seed, plan: plan, trace: trace), operations)
        case .model: run(QueueScenario<ModelSubject>(seed: seed, plan: plan, trace: trace), operations)
        }
    }

    private func run(_ scenario: QueueScenario<some QueueUnderTest>, _ operations: Int) -> Result {
        do {
            try scenario.run(operations: operations)
            return .kept(scenario.tally)
        } catch {
            return .broken(error.description, isLoss: error.kind == .lost)
        }
    }

    /// Lives through it with a crash after so many steps; nil where it does not come that far.
    package func run(operations: Int, crashStep: Int, trace: ((String) -> Void)? = nil) -> Result? {
        switch subject {
        case .real: run(QueueScenario<RealQueue>(seed: seed, plan: plan, trace: trace), operations, crashStep)
        case .model: run(QueueScenario<ModelSubject>(seed: seed, plan: plan, trace: trace), operations, crashStep)
        }
    }

    private func run(_ scenario: QueueScenario<some QueueUnderTest>, _ operations: Int, _ crashStep: Int) -> Result? {
        do {
            return try scenario.run(operations: operations, crashStep: crashStep) ? .kept(scenario.tally) : nil
        } catch {
            return .broken(error.description, isLoss: error.kind == .lost)
        }
    }
}

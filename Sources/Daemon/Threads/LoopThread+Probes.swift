internal import Bytes
internal import Control
internal import Delivery
internal import HTTPTransport
internal import Reachability
internal import Reactor
internal import Resolver

/// Probes of operators: one of a destination at a time, four in all.
extension LoopThread {
    private static let probesLimit = 4

    func probe(_ name: String, _ done: @escaping (OperatorAnswer) -> Void) {
        guard let unit = coordinator.units.first(where: { $0.name == name }) else {
            return done(.unknown(destination: name))
        }
        guard !isStopping else { return done(.failed("the daemon is stopping")) }
        guard probes[name] == nil else { return done(.conflict("a probe of \(name) is under way")) }
        guard probes.count < Self.probesLimit else {
            return done(.failed("\(Self.probesLimit) probes are under way; try again in a while"))
        }
        let run = ProbeRun(self, of: unit.delivery) { [weak self] in self?.probeEnded(name, $0) }
        probes[name] = (run, done)
        run.begin()
    }

    /// What a probe waits for does not come any more.
    func cancelProbes() {
        for (run, done) in probes.values {
            run.cancel()
            done(.failed("the daemon is stopping"))
        }
        probes = [:]
    }

    /// It changes nothing by itself; but where the destination answers and is not known to, its own check is due.
    private func probeEnded(_ name: String, _ findings: ProbeFindings) {
        guard let (run, done) = probes.removeValue(forKey: name) else { return }
        var verdict: ProbeVerdict?
        if case .answer(let answer) = findings.inspection?.outcome { verdict = run.delivery.verdict(onProbe: answer) }
        let report = ProbeReport(
            findings, of: run.delivery.settings, standing(of: name), credentialsFault: credentialsFault(of: name),
            verdict: verdict
        ) { run.delivery.hidingSecrets(in: $0) }
        done(.document(report.json))
        if verdict == .proof { tell(.probeAnswered(destination: name)) }
    }

    /// Which of its files of certificates cannot be used, and why.
    func credentialsFault(of name: String) -> String? {
        settings.destinations.first { $0.settings.name == name }?.credentialsFault
    }

    private func standing(of name: String) -> ProbeStanding {
        var standing = ProbeStanding()
        guard let unit = coordinator.units.first(where: { $0.name == name }) else { return standing }
        let status = unit.delivery.status
        standing.state = unit.reachability.state
        standing.reason = status.reason == .none ? unit.reachability.reason : status.reason
        standing.isPaused = status.isPaused
        standing.isHeld = status.isHeld
        standing.policy = status.reason == .policy ? unit.delivery.policyDetail : nil
        return standing
    }
}

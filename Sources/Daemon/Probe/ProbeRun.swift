internal import Bytes
internal import Delivery
internal import HTTPTransport
internal import Posix
internal import Reachability
internal import Reactor
internal import Resolver
internal import Time

/// Carries out what one probe asks for, on the loop's thread.
final class ProbeRun {
    private unowned let thread: LoopThread
    /// As it was when the probe began.
    let delivery: Destination
    private var probe: Probe
    private var trials: [ConnectTrial] = []
    private var inspection: Inspection?
    private var timer: TimerToken?
    private let ended: (ProbeFindings) -> Void

    /// A probe of a destination; `ended` is called once, perhaps from within `begin`, unless `cancel` comes first.
    init(_ thread: LoopThread, of delivery: Destination, ended: @escaping (ProbeFindings) -> Void) {
        self.thread = thread
        self.delivery = delivery
        self.ended = ended
        probe = Probe(delivery.settings, at: thread.loop.now)
    }

    func begin() { tell(.begin) }

    func took(_ answer: ResolverAnswer, nameServers: [IPAddress]) {
        tell(.lookedUp(answer, nameServers: nameServers))
    }

    /// Ends it; nobody is told.
    func cancel() {
        trials = []
        inspection?.cancel()
        inspection = nil
        if let timer { thread.loop.cancel(timer) }
        timer = nil
    }

    private func tell(_ event: Probe.Event) {
        let effects = probe.handle(event, at: thread.loop.now)
        setTimer()
        for effect in effects { carryOut(effect) }
    }

    private func carryOut(_ effect: Probe.Effect) {
        switch effect {
        case .lookUp(let host): thread.lookUp(host)
        case .askKernel(let addresses): tell(.ways(thread.network.ways(to: addresses)))
        case .connect(let address, let port): connect(address, port)
        case .inspect(let addresses, let limit): inspect(addresses, within: limit)
        case .end:
            cancel()
            ended(probe.findings)
        }
    }

    private func connect(_ address: IPAddress, _ port: UInt16) {
        do throws(Errno) {
            trials.append(
                try ConnectTrial(to: address, port: port, on: thread.loop) { [weak self] error in
                    self?.tell(.connected(address, error))
                })
        } catch {
            tell(.connected(address, error))
        }
    }

    private func inspect(_ addresses: [IPAddress], within limit: Duration) {
        let request = delivery.probe(within: limit)
        inspection = thread.transport.inspect(request, addresses: addresses) { [weak self] in
            self?.tell(.inspected($0))
        }
        guard inspection == nil else { return }
        let detail = thread.credentialsFault(of: delivery.settings.name) ?? "the certificates are not there"
        tell(.inspected(InspectionResult(outcome: .failed(TransportFailure(reason: .tls, detail: detail)))))
    }

    private func setTimer() {
        if let timer { thread.loop.cancel(timer) }
        timer = probe.deadline.map { deadline in
            thread.loop.schedule(at: deadline) { [weak self] in
                self?.timer = nil
                self?.tell(.timer)
            }
        }
    }
}

internal import Control
internal import Intake
internal import Posix
internal import Reactor
internal import SystemdService
internal import Time

/// The stop: no new clients, the last batch synced and answered, the request in hand finished or given up, the cursors
/// synced; five seconds after the signal the process ends, whatever hangs.
extension LoopThread {
    /// How long requests in hand may still take.
    private static let requestGrace = Duration.seconds(3)
    private static let limit = Duration.seconds(5)

    func beginStopping(_ reason: String) {
        guard !isStopping else { return }
        isStopping = true
        manager.stopping(status: "stopping: the last events are made durable")
        log.log(.stopping(reason: reason))
        intake.stop()
        var change = Change(.daemon)
        change.to = "stopping"
        watchers.tell(change, at: Clock.wall)
        control?.stop()
        cancelProbes()
        tell(.stop)
        loop.schedule(at: loop.now + Self.requestGrace) { [weak self] in self?.giveUpRequests() }
        loop.schedule(at: loop.now + Self.limit) { [weak self] in self?.leave() }
    }

    func proceedStopping() {
        if diskHasStopped { return leave() }
        guard intake.isDrained, coordinator.isIdle, !diskIsStopping else { return }
        diskIsStopping = true
        requests.post(.stop)
    }

    private func giveUpRequests() {
        for index in coordinator.units.indices {
            perform(coordinator.giveUpRequests(index, at: loop.now))
        }
    }

    private func leave() {
        log.log(.stopped(queued: queuedEvents))
        log.flushAndStop(atMost: .milliseconds(500))
        loop.stop()
    }
}

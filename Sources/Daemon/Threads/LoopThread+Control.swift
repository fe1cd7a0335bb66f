internal import Control
internal import HTTPServer
internal import Intake
internal import Posix
internal import Queue
internal import Reactor
internal import SystemdService
internal import Time

extension LoopThread: ControlDelegate {
    var isAlive: Bool { pulse.isAlive(at: Clock.now) }

    /// Events that the destination furthest behind still has to get.
    var queuedEvents: UInt64 {
        let queued = snapshot.cursors.map { ($0.destination, $0.queued) }
        return Dictionary(queued, uniquingKeysWith: +).values.max() ?? 0
    }

    var isReady: Bool { !isStopping && coordinator.admission.unreadiness == nil }

    /// From a fresh snapshot of the queue; from the last one where the disk's thread is busy for over a second.
    func status(_ done: @escaping (StatusReport) -> Void) {
        asking.append(done)
        guard asking.count == 1 else { return }
        requests.post(.snapshot)
        patience = loop.schedule(at: loop.now + .seconds(1)) { [weak self] in
            self?.patience = nil
            self?.answerStatus()
        }
    }

    func answerStatus() {
        guard !asking.isEmpty else { return }
        if let patience { loop.cancel(patience) }
        patience = nil
        let waiting = asking
        asking = []
        let report = StatusAssembly(self).report
        for done in waiting { done(report) }
    }

    func watch(_ begin: () -> HTTPStream?) -> Bool { watchers.add(begin) }

    func flush(destination: String) -> Bool {
        guard coordinator.units.contains(where: { $0.name == destination }) else { return false }
        tell(.flush(destination: destination))
        return true
    }

    /// Tells the service manager that the daemon serves, now or once it reads: it waits for that word.
    func tellReady() {
        guard !isStopping, !manager.ready(status: statusSentence()) else { return }
        readyTimer = loop.schedule(at: loop.now + .seconds(1)) { [weak self] in self?.tellReady() }
    }

    /// Gives the watchdog a sign of life every half of its interval, while the disk's thread is not given up.
    func feedWatchdog() {
        guard let interval = manager.watchdogInterval else { return }
        if isAlive { manager.feedWatchdog() }
        loop.schedule(at: loop.now + .nanoseconds(interval.nanoseconds / 2)) { [weak self] in self?.feedWatchdog() }
    }
}

import Control
import HTTPServer
import Posix
import Reactor
import Time

/// What a daemon under test answers.
struct Script: Sendable {
    var report = StatusReport.example
    /// Nil: none ever comes.
    var verdict: ReloadVerdict? = .taken(changed: [], needsRestart: [], warnings: [])
    /// The verdict comes so much later.
    var verdictDelay: Duration = .zero
    var answer = OperatorAnswer.done
    /// How many a watcher is told before the daemon stops; with none it is refused.
    var changes = 0
    /// That is what it is told; nil: that a destination has lost its path.
    var change: Change?
    /// It is told of the stop.
    var saysGoodbye = true
    var isAlive = true
    var isReady = true
}

final class ScriptedDaemon: ControlDelegate {
    private let script: Script
    private let loop: EventLoop
    private var server: ControlServer?
    let flushed: Lock<[String]>

    init(_ script: Script, on loop: EventLoop, flushed: Lock<[String]>) {
        self.script = script
        self.loop = loop
        self.flushed = flushed
    }

    func listen(_ path: String, limits: HTTPServerLimits) throws {
        let server = ControlServer(on: loop, delegate: self, limits: limits)
        try server.listen(taking: Socket.listenUnix(path))
        self.server = server
    }

    func status(_ done: @escaping (StatusReport) -> Void) { done(script.report) }
    var isAlive: Bool { script.isAlive }
    var isReady: Bool { script.isReady }

    func watch(_ begin: () -> HTTPStream?) -> Bool {
        guard script.changes > 0, let stream = begin() else { return false }
        for number in 0..<script.changes {
            var change = Change(.state)
            change.destination = "d\(number)"
            change.from = "reachable"
            change.to = "no-path"
            change.reason = "no-route"
            change.detail = "no \u{1B}route"
            change.cause = "kernel link"
            if let other = script.change { change = other }
            stream.write(change.line(at: WallTime(milliseconds: 1_795_849_478_123)))
        }
        if script.saysGoodbye {
            var change = Change(.daemon)
            change.to = "stopping"
            stream.write(change.line(at: WallTime(milliseconds: 1_795_849_478_123)))
        }
        loop.schedule(at: loop.now + .milliseconds(200)) { [weak self] in self?.server?.stop() }
        return true
    }

    func flush(destination: String) -> Bool {
        flushed.with { $0.append(destination) }
        return script.report.destinations.contains { $0.name == destination }
    }

    func carryOut(_ order: OperatorOrder, _ done: @escaping (OperatorAnswer) -> Void) {
        flushed.with { $0.append("\(order)") }
        done(script.answer)
    }

    func reload(_ done: @escaping (ReloadVerdict) -> Void) {
        guard let verdict = script.verdict else { return }
        guard script.verdictDelay > .zero else { return done(verdict) }
        loop.schedule(at: loop.now + script.verdictDelay) { done(verdict) }
    }
}

/// Runs a scripted daemon behind a control socket, and gives its path and the names flushed.
func withDaemon(
    _ script: Script = Script(), limits: HTTPServerLimits = HTTPServerLimits(),
    _ body: (_ path: String, _ flushed: Lock<[String]>) throws -> Void
) throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/control.sock"
    let flushed = Lock<[String]>([])
    try withLoop({ loop in
        let daemon = ScriptedDaemon(script, on: loop, flushed: flushed)
        try daemon.listen(path, limits: limits)
        return (daemon, true)
    }) { _ in try body(path, flushed) }
}

extension StatusReport {
    /// A daemon offline for one destination, held by another, well with a third.
    static var example: StatusReport {
        var well = DestinationReport(
            name: "collector", state: "reachable", reason: "none", since: WallTime(milliseconds: 1_795_849_478_123))
        well.ledger.accepted = 12_345
        well.ledger.delivered = 12_345
        well.lastSuccess = WallTime(milliseconds: 1_795_849_500_000)
        var offline = DestinationReport(name: "backup", state: "no-path", reason: "no-route", since: nil)
        offline.reasonDetail = "no route to 192.0.2.1"
        offline.ledger.accepted = 12
        offline.ledger.queued = 12
        offline.oldestAge = .milliseconds(1_500)
        offline.attempts = 3
        offline.nextAttemptAt = WallTime(milliseconds: 1_795_849_530_000)
        return StatusReport(
            version: "0.1.0", uptime: .milliseconds(12_345), state: .running, isClockSynchronised: true,
            network: NetworkReport(connectionType: "wifi", since: WallTime(milliseconds: 1_795_849_478_123)),
            intake: IntakeReport(accepted: 12_345, refused: 2, duplicates: 1, connections: 4),
            destinations: [well, offline],
            queue: QueueReport(
                directory: "/var/lib/uplinkd", bytes: 1_048_576, limitBytes: 536_870_912,
                logs: ["normal": QueueReport.Log(events: 12, bytes: 1_048_576)],
                room: .seconds(777_600)),
            storage: StorageReport(state: .ok, lastSync: .microseconds(1_234), detail: nil),
            consent: ["analytics": "hold"])
    }

    /// The same with a destination that an answer holds, its texts hostile.
    static var held: StatusReport {
        var report = example
        report.destinations[0].flags = [.held]
        report.destinations[0].reason = "unauthorized"
        report.destinations[0].ledger.dead = 2
        report.destinations[0].lastError = DestinationReport.Failure(
            status: 401, detail: "no\u{1B}]0;owned\u{7} \u{9B}31m\nentry \"\\\u{202E}",
            location: "http://x/\r\n", at: WallTime(milliseconds: 1_795_849_500_000))
        return report
    }
}

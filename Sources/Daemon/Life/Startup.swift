internal import Bytes
internal import Configuration
internal import Control
internal import HTTPTransport
internal import Intake
internal import Posix
internal import Queue
internal import Reactor
internal import SystemdService
internal import Time
internal import Version

/// The start: configuration, queue, sockets, network; ready only when all of it stands.
struct Startup {
    /// How much longer the start may last from each sign of progress on.
    private static let grant = Duration.seconds(10)

    private let configurationPath: String
    private let manager = ServiceManager()

    init(configurationPath: String) { self.configurationPath = configurationPath }

    /// Runs the daemon until it is told to stop.
    func run() -> ExitStatus {
        Process.setFileMask(0o077)
        Process.ignoreFatalWriteSignals()
        Process.endAfterTrace()
        Process.limitArenas(2)
        do throws(StartError) {
            // Signals first: threads made later must have them blocked.
            let signals = try calling { () throws(Errno) in
                try SignalSource([.terminate, .interrupt, .hangUp])
            }
            try startTransport()
            let log = try calling { () throws(Errno) in try LogThread() }
            do throws(StartError) {
                try serve(signals, log)
                return .stopped
            } catch {
                return report(error, log)
            }
        } catch {
            try? StandardStream.error.write(Array("uplinkd: \(error.sentence)\n".utf8))
            return error.exitStatus
        }
    }

    private func startTransport() throws(StartError) {
        do throws(HTTPTransportError) {
            _ = try Libcurl.start()
        } catch {
            throw .transport(error)
        }
    }

    private func serve(_ signals: consuming SignalSource, _ log: LogThread) throws(StartError) {
        log.log(.started(version: Version.text, configuration: configurationPath))
        let loads = try calling { () throws(Errno) in try Mailbox<LoadedSettings>() }
        try calling { () throws(Errno) in try SettingsThread.start(configurationPath, replies: loads) }
        guard let loaded = wait(for: loads, signals, "reading the configuration") else { return giveUp(log) }
        for problem in loaded.problems {
            let isError = problem.severity == .error
            log.log(.configurationProblem(isError: isError, at: "\(problem.origin)", problem.message))
        }
        guard let configuration = loaded.configuration else { throw .configuration(loaded.problems) }
        for notice in loaded.fileNotices { log.log(notice) }
        let (limits, descriptors) = shareDescriptors(loaded, configuration, log)
        let requests = BlockingMailbox<DiskRequest>()
        let replies = try calling { () throws(Errno) in try Mailbox<DiskReply>() }
        let pulse = DiskPulse()
        let began = Clock.now
        let disk = try calling { () throws(Errno) in
            try DiskThread.start(
                QueueSettings(configuration), requests: requests, replies: replies, pulse: pulse)
        }
        guard let (recovery, snapshot) = try awaitQueue(replies, signals, pulse) else { return giveUp(log) }
        let thread = try calling { () throws(Errno) in
            try LoopThread(
                LoopThread.Parts(
                    loop: try EventLoop(), requests: requests, replies: replies, loads: loads, pulse: pulse, log: log,
                    manager: manager, configurationPath: configurationPath, settings: loaded, limits: limits,
                    descriptors: descriptors, snapshot: snapshot, consent: recovery.consent,
                    recent: RecentEvents(seed: recovery.keySeed, keys: recovery.keyed.map(\.key))))
        }
        try listen(thread, configuration)
        let watch = SignalWatch(signals, on: thread)
        try calling { () throws(Errno) in try watch.start() }
        thread.report(recovery)
        thread.beginConsent()
        if !recovery.isNew { log.log(.recovered(events: thread.queuedEvents, took: Clock.now - began)) }
        thread.tellOfRemoved()
        log.log(.ready(destinations: loaded.destinations.count, queued: thread.queuedEvents))
        thread.tellReady()
        thread.feedWatchdog()
        try calling { () throws(Errno) in try thread.loop.run() }
        watch.stop()
        if thread.diskHasStopped { disk.join() }
    }

    /// Shares the descriptors that the process may have; says so where clients may have fewer than they should.
    private func shareDescriptors(
        _ loaded: LoadedSettings, _ configuration: Configuration, _ log: LogThread
    ) -> (IntakeLimits, DescriptorShares) {
        let wanted = configuration.intake.maximumConnections
        var limits = IntakeLimits(loaded)
        let needed = DescriptorShares.limit(forClients: wanted + limits.maximumTurnedAway)
        let shares = DescriptorShares(limit: Process.raiseDescriptorLimit(to: needed))
        if shares.bound(&limits) {
            log.log(
                .configurationProblem(
                    isError: false, at: configurationPath,
                    "MaxConnections=\(wanted) is more than this process may have: RLIMIT_NOFILE \(shares.limit) leaves"
                        + " \(limits.maximumConnections) clients; LimitNOFILE=\(needed) would be enough"))
        }
        return (limits, shares)
    }

    /// Waits for the disk's thread; nil where the daemon is to stop instead.
    private func awaitQueue(
        _ replies: Mailbox<DiskReply>, _ signals: borrowing SignalSource, _ pulse: DiskPulse
    ) throws(StartError) -> (RecoveryReport, QueueSnapshot)? {
        switch wait(for: replies, signals, "opening the queue", progress: { pulse.bytesRead }) {
        case nil: return nil
        case .opened(let recovery, let snapshot): return (recovery, snapshot)
        case .openFailed(let error): throw .queue(error)
        default: preconditionFailure("the disk's thread spoke before it opened the queue")
        }
    }

    /// Waits for what another thread posts, and tells the service manager what takes long; nil where the daemon is to
    /// stop instead.
    ///
    /// Where `progress`, in bytes, grows, the start may take longer.
    private func wait<Message>(
        for mailbox: Mailbox<Message>, _ signals: borrowing SignalSource, _ work: String,
        progress: () -> Int = { 0 }
    ) -> Message? {
        var told = Clock.now
        var done = 0
        var wantsReload = false
        while true {
            if let message = mailbox.next(waitingAtMost: .milliseconds(100)) {
                // The signal waits for the loop.
                if wantsReload { try? Process.send(.hangUp, to: Process.identifier) }
                return message
            }
            while let signal = try? signals.next() {
                if signal == .terminate || signal == .interrupt { return nil }
                wantsReload = wantsReload || signal == .hangUp
            }
            if Clock.now - told >= .seconds(1) {
                told = Clock.now
                let before = done
                done = progress()
                if done > before {
                    manager.extendTimeout(by: Self.grant, status: "\(work): \(done / 1_048_576) MiB read")
                } else {
                    manager.status(work)
                }
            }
        }
    }

    /// Stops before the queue is open; whatever the disk's thread has begun, the next start mends.
    private func giveUp(_ log: LogThread) {
        let reason = "a signal came before the queue was open"
        manager.stopping(status: "stopping: " + reason)
        log.log(.stopping(reason: reason))
        log.flushAndStop(atMost: .milliseconds(500))
    }

    /// Takes the sockets that systemd passed, and binds those that it did not.
    private func listen(_ thread: LoopThread, _ configuration: Configuration) throws(StartError) {
        let intake = configuration.intake
        let control = configuration.control
        var passed: PassedSockets
        do throws(PassedSocketError) {
            passed = try PassedSockets.take()
        } catch {
            throw .passed(error)
        }
        let events = try socket(
            passed.events.take(), intake.socket, mode: intake.socketMode, group: intake.socketGroup)
        let operators = try socket(
            passed.control.take(), control.socket, mode: control.socketMode, group: control.socketGroup)
        do throws(Errno) {
            try thread.intake.listen(taking: events)
            let server = ControlServer(on: thread.loop, delegate: thread)
            try server.listen(taking: operators)
            thread.control = server
        } catch {
            throw .system(error)
        }
    }

    private func socket(
        _ passed: consuming FileDescriptor?, _ path: String, mode: UInt32, group: String?
    ) throws(StartError) -> FileDescriptor {
        if let passed = consume passed { return passed }
        do throws(BindError) {
            return try UnixListener.bind(path, mode: mode, group: group)
        } catch {
            throw .socket(error)
        }
    }

    private func report(_ error: StartError, _ log: LogThread) -> ExitStatus {
        log.log(.startFailed(error.summary, errno: error.errno))
        log.flushAndStop(atMost: .seconds(2))
        manager.failed(status: error.sentence, errno: error.errno)
        if error.exitStatus == .configuration, Process.environment("LISTEN_FDS") != nil {
            // A client that waits on the socket starts the daemon again at once, until systemd gives the socket up.
            Clock.sleep(.seconds(1))
        }
        return error.exitStatus
    }

    private func calling<Result: ~Copyable>(_ body: () throws(Errno) -> Result) throws(StartError) -> Result {
        do throws(Errno) {
            return try body()
        } catch {
            throw .system(error)
        }
    }
}

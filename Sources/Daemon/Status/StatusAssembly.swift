internal import Bytes
internal import Configuration
internal import Control
internal import Delivery
internal import Gates
internal import Intake
internal import Netlink
internal import Posix
internal import Queue
internal import Reachability
internal import Reactor
internal import Time
internal import Version

/// Puts together what status shows, from the coordinator and the newest snapshot of the queue.
struct StatusAssembly {
    let report: StatusReport

    init(_ thread: LoopThread) {
        let now = thread.loop.now
        let clock = WallClock(at: now)
        let statistics = thread.intake.statistics
        let storage = Self.storage(thread, at: now)
        let destinations = thread.coordinator.units.map { unit in
            var report = Self.destination(unit, thread.snapshot, clock)
            let spans = DestinationState.allCases.map { ($0.rawValue, unit.reachability.span(in: $0, at: now)) }
            report.stateSpans = Dictionary(uniqueKeysWithValues: spans)
            report.oldestAge = thread.oldestAges[unit.name]
            report.fileFault = thread.credentialsFault(of: unit.name)
            return report
        }
        var report = StatusReport(
            version: Version.text, uptime: now - thread.began,
            state: thread.isStopping ? .stopping : storage.state == .ok ? .running : .degraded,
            isClockSynchronised: Clock.isSynchronised,
            network: Self.network(thread, clock),
            intake: IntakeReport(
                accepted: statistics.accepted, refused: statistics.refused, duplicates: statistics.duplicates,
                connections: statistics.connections),
            destinations: destinations + Self.removed(thread.snapshot, clock),
            queue: Self.queue(thread, at: now), storage: storage, consent: Self.consent(thread))
        if let lost = thread.coordinator.admission.consent.lostText {
            report.consentDetail = "what was set could not be read: on hold until set anew: \(lost)"
        }
        report.longestTurn = max(thread.longestStall, thread.loop.longestTurn)
        self.report = report
    }

    private static func network(_ thread: LoopThread, _ clock: WallClock) -> NetworkReport {
        var report = NetworkReport(
            connectionType: thread.coordinator.connectionType.name,
            since: clock.time(of: thread.coordinator.connectionTypeSince))
        let messages = MulticastGroup.allCases.map { ($0.rawValue, thread.network.messages[$0] ?? 0) }
        report.messages = Dictionary(uniqueKeysWithValues: messages)
        report.overruns = thread.network.overruns
        report.evaluations = thread.network.evaluations
        return report
    }

    private static func destination(
        _ unit: DestinationUnit, _ snapshot: QueueSnapshot, _ clock: WallClock
    ) -> DestinationReport {
        let status = unit.delivery.status
        let reason = status.reason == .none ? unit.reachability.reason : status.reason
        var report = DestinationReport(
            name: unit.name, state: unit.reachability.state.rawValue, reason: reason.rawValue,
            since: clock.time(of: unit.reachability.since))
        report.reasonDetail = unit.delivery.reasonDetail
        if status.reason == .none, report.reasonDetail == nil, !unit.reachability.detail.isEmpty {
            report.reasonDetail = unit.reachability.detail
        }
        if status.isThrottled { report.flags.append(.throttled) }
        if status.isHeld { report.flags.append(.held) }
        if status.isPaused { report.flags.append(.paused) }
        report.ledger = ledger(of: unit.name, snapshot)
        report.lastSuccess = status.lastSuccess.map(clock.time)
        report.lastError = status.lastError.map { error in
            DestinationReport.Failure(
                status: error.status, detail: error.detail, location: error.location, at: clock.time(of: error.at))
        }
        let settings = unit.delivery.settings
        report.token = settings.tokenFault != nil ? .missing : settings.token != nil ? .good : .none
        report.certificateRefusedSince = status.certificateRefusedSince.map(clock.time)
        let next = status.isPaused ? unit.delivery.pausedUntil : status.nextAttempt ?? unit.reachability.deadline
        report.nextAttemptAt = next.map(clock.time)
        report.attempts = UInt64(status.attempts)
        let checks = unit.reachability.statistics.checks
        let results = ReachabilityStatistics.CheckResult.allCases.map { ($0.rawValue, checks[$0] ?? 0) }
        report.checks = Dictionary(uniqueKeysWithValues: results)
        return report
    }

    /// Destinations that the configuration no longer names, but for which events are kept.
    private static func removed(_ snapshot: QueueSnapshot, _ clock: WallClock) -> [DestinationReport] {
        Set(snapshot.cursors.filter(\.isRemoved).map(\.destination)).sorted().map { name in
            var report = DestinationReport(
                name: name, state: DestinationState.unknown.rawValue, reason: StateReason.none.rawValue, since: nil)
            report.flags = [.removed]
            report.ledger = ledger(of: name, snapshot)
            return report
        }
    }

    private static func ledger(of name: String, _ snapshot: QueueSnapshot) -> DestinationReport.Ledger {
        var sum = DestinationReport.Ledger()
        for cursor in snapshot.cursors where cursor.destination == name {
            sum.accepted += cursor.accepted
            sum.queued += cursor.queued
            sum.delivered += cursor.ledger.delivered
            sum.dead += cursor.ledger.dead
            sum.expired += cursor.ledger.expired
            sum.evicted += cursor.ledger.evicted
            sum.purged += cursor.ledger.purged
            sum.quarantined += cursor.ledger.quarantined
        }
        return sum
    }

    private static func queue(_ thread: LoopThread, at now: Instant) -> QueueReport {
        let snapshot = thread.snapshot
        let logs = snapshot.logs.map { ($0.name.text, QueueReport.Log(events: $0.events, bytes: $0.bytes)) }
        let room = thread.roomEstimate.room(
            written: snapshot.writtenBytes, bytes: snapshot.bytes, of: snapshot.bound, at: now)
        var report = QueueReport(
            directory: thread.startedWith.queue.directory, bytes: snapshot.bytes, limitBytes: snapshot.limit,
            logs: Dictionary(uniqueKeysWithValues: logs), room: room)
        report.boundBytes = snapshot.bound
        report.bound = snapshot.boundKind
        report.keptFreeBytes = snapshot.keptFree
        report.refused = snapshot.refused.map(\.text)
        return report
    }

    private static func consent(_ thread: LoopThread) -> [String: String] {
        let consent = thread.coordinator.admission.consent
        return Dictionary(uniqueKeysWithValues: consent.categories.map { ($0, consent.state(of: $0).name) })
    }

    private static func storage(_ thread: LoopThread, at now: Instant) -> StorageReport {
        let snapshot = thread.snapshot
        let lastSync = Duration.microseconds(snapshot.lastSyncMicroseconds)
        let detail = snapshot.lastError.map { "\($0)" }
        switch snapshot.storage {
        case .failing: return StorageReport(state: .failing, lastSync: lastSync, detail: detail)
        case .full: return StorageReport(state: .full, lastSync: lastSync, detail: detail)
        case .good:
            let slowness = thread.pulse.slowness(at: Clock.now)
            return StorageReport(state: slowness == nil ? .ok : .slow, lastSync: lastSync, detail: slowness)
        }
    }
}

extension QueueSnapshot {
    /// What bounds the queue: what has refused an event of late, else what comes first.
    fileprivate var boundKind: QueueReport.Bound {
        switch lastError {
        case .full: .maximumSize
        case .failed(.create, _, _, .noSpace): .files
        case .failed(_, _, _, .quota): .quota
        case .noRoom, .failed(_, _, _, .noSpace): .fileSystem
        default: bound < limit ? .fileSystem : .maximumSize
        }
    }
}

/// Wall times of instants, by how the two clocks stand now.
struct WallClock {
    private let offset: Int64

    init(at now: Instant) { offset = Clock.wall.milliseconds - now.nanoseconds / 1_000_000 }

    func time(of instant: Instant) -> WallTime {
        WallTime(milliseconds: instant.nanoseconds / 1_000_000 + offset)
    }
}

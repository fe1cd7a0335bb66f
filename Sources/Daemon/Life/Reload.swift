internal import Configuration
internal import Control
internal import Delivery
internal import Gates
internal import HTTPTransport
internal import Posix
internal import Queue
internal import Reachability
internal import Reactor
internal import SystemdService

/// The reload: the configuration is read and checked whole on a thread of its own, then taken, or refused.
extension LoopThread {
    func reload(_ done: @escaping (ReloadVerdict) -> Void) {
        guard reloads.ask(done) else { return done(.refused(errors: ["too many wait for the reload under way"])) }
        beginReload()
    }

    /// A reload whose outcome only the journal tells.
    func reload() {
        _ = reloads.ask(nil)
        beginReload()
    }

    private func beginReload() {
        guard !isStopping, reloads.begin() else { return }
        if let readyTimer { loop.cancel(readyTimer) }
        manager.reloading()
        do throws(Errno) {
            try SettingsThread.start(configurationPath, replies: loads)
        } catch {
            refuseReload(["no thread to read the configuration with: \(error)"])
        }
    }

    func took(_ loaded: LoadedSettings) {
        guard !isStopping else { return }
        log.overtake([.configuration])
        for problem in loaded.problems {
            log.log(
                .configurationProblem(
                    isError: problem.severity == .error, at: "\(problem.origin)", problem.message))
        }
        guard loaded.configuration != nil else {
            return refuseReload(loaded.errors.map { "\($0)" })
        }
        log.overtake([.file])
        for notice in loaded.fileNotices { log.log(notice) }
        upcoming = loaded
        let kept = unitsKept(by: loaded).map(\.name)
        for index in coordinator.units.indices where !kept.contains(coordinator.units[index].name) {
            perform(coordinator.retire(index, at: loop.now))
        }
        requests.post(.destinations(loaded.destinations.map(\.settings.name)))
    }

    /// The disk's thread has settled all that was sent before, so its cursors are where delivery goes on.
    func destinationsTaken(_ newSnapshot: QueueSnapshot) {
        snapshot = newSnapshot
        guard let loaded = upcoming, let before = settings.configuration, let after = loaded.configuration else {
            return
        }
        upcoming = nil
        let changes = Configuration.changes(from: before, startedWith: startedWith, to: after)
        let files = filesChanged(by: loaded, besides: changes)
        let maker = UnitMaker(
            loaded, newSnapshot, keeping: unitsKept(by: loaded), madeBefore: unitsMade, at: loop.now)
        unitsMade = maker.made
        settings = loaded
        for unit in coordinator.units where !maker.units.contains(where: { $0.name == unit.name }) {
            log.overtake([.way, .acceptance], where: [.destination: unit.name])
        }
        applyCredentials()
        perform(coordinator.replaceUnits(maker.units, at: loop.now))
        perform(coordinator.use(reachability: ReachabilitySettings(loaded), at: loop.now))
        perform(coordinator.use(consent: ConsentSettings(loaded), at: loop.now))
        network.rules = LinkTypeRule.rules(of: loaded)
        tell(.networkChanged(by: "reload"))
        tell(.reloaded)
        log.overtake([.removal])
        tellOfRemoved()
        let told = changes.map { "\($0)" } + files
        log.log(.reloaded(changes: told))
        var change = Change(.configuration)
        change.detail = told.isEmpty ? "nothing changed" : told.joined(separator: "; ")
        watchers.tell(change, at: Clock.wall)
        endReload(
            .taken(
                changed: changes.filter { !$0.needsRestart }.map { "\($0)" } + files,
                needsRestart: changes.filter(\.needsRestart).map { "\($0)" },
                warnings: (loaded.warnings + loaded.fileProblems + warnOfCategories()).map { "\($0)" }))
    }

    /// Destinations of which only the files that they name hold something else; what cannot be used changes nothing.
    private func filesChanged(by loaded: LoadedSettings, besides changes: [ConfigurationChange]) -> [String] {
        loaded.destinations.filter { files in
            guard files.credentialsFault == nil, files.settings.tokenFault == nil,
                let old = settings.destinations.first(where: { $0.settings.name == files.settings.name })
            else { return false }
            let isOtherwiseTheSame = !changes.contains { $0.setting.instance == files.settings.name }
            return isOtherwiseTheSame && old.settings != files.settings
        }.map { "[Destination \"\($0.settings.name)\"]: what its files hold" }
    }

    /// The units whose delivery a configuration leaves as it is.
    private func unitsKept(by loaded: LoadedSettings) -> [DestinationUnit] {
        coordinator.units.filter { unit in
            loaded.destinations.contains { $0.settings == unit.delivery.settings }
        }
    }

    func applyCredentials() {
        for files in settings.destinations {
            if let credentials = files.credentials {
                transport.use(credentials, destination: files.settings.name)
            } else if let fault = files.credentialsFault {
                transport.lack(credentials: fault, destination: files.settings.name)
            }
        }
    }

    private func refuseReload(_ errors: [String]) {
        log.log(.reloadRefused(errors: errors.count, first: errors.first ?? ""))
        endReload(.refused(errors: errors))
    }

    private func endReload(_ verdict: ReloadVerdict) {
        tellReady()
        for done in reloads.end() { done(verdict) }
        beginReload()
    }
}

internal import Bytes
internal import Control
internal import Daemon
internal import Delivery
internal import Posix
internal import Queue
internal import QueueSimulator
internal import Reachability
internal import Time

/// What happens to the daemon, by the seed: posts, changes of the world, faults, ends.
extension Simulation {
    func beginStimuli() {
        repeating(every: .milliseconds(1_500)) { $0.post() }
        repeating(every: settings.pace) { $0.changeLinks() }
        repeating(every: settings.pace) { $0.changeNameServer() }
        repeating(every: settings.pace / 2) { $0.changeMood() }
        repeating(every: settings.crashes) { $0.end() }
        repeating(every: .seconds(60)) { $0.operate() }
        repeating(every: .seconds(40)) { $0.changeConsent() }
        repeating(every: .seconds(50)) { $0.purgeEvent() }
        repeating(every: .seconds(60), afterHealing: true) { $0.dropLetters() }
        repeating(every: .seconds(90)) { $0.sleep() }
        repeating(every: .seconds(100)) { $0.hangDisk() }
        if settings.hasDiskErrors { repeating(every: .seconds(20)) { $0.failDisk() } }
    }

    /// Does something again and again until all is healed.
    func repeating(
        every mean: Duration, afterHealing: Bool = false, _ body: @escaping (Simulation) -> Void
    ) {
        plan(after: span(mean / 10...mean * 19 / 10)) { world in
            guard afterHealing || !world.isHealed else { return }
            body(world)
            world.repeating(every: mean, afterHealing: afterHealing, body)
        }
    }

    private func post() {
        guard now >= asleepUntil, let process, !process.isStopping else { return }
        let isRare = chance(6)
        var isForCategory = false
        for _ in 0..<Int.random(in: 1...(isRare ? 25 : 4), using: &random) {
            events += 1
            var bytes: [UInt8] = Array("{\"n\":".utf8)
            bytes.append(decimal: events)
            bytes += Array(",\"x\":\"".utf8)
            let length = chance(4) ? 1_500 : Int.random(in: 0..<120, using: &random)
            bytes += [UInt8](repeating: UInt8(ascii: "a") + UInt8(events % 26), count: length)
            bytes += Array("\"}".utf8)
            let other: LogName = chance(40) ? .consent(Self.category) : (chance(50) ? .urgent : .bulk)
            let log: LogName = chance(60) ? .normal : other
            process.post(events, bytes, to: log)
            isForCategory = isForCategory || log == Promise.consentLog
        }
        // What waits for the next commit is refused then.
        if !isHealed, isForCategory, chance(2) { takeCategoryOut() }
        process.endTurn()
    }

    private func changeLinks() {
        let place = Int.random(in: 0..<network.links.count, using: &random)
        if chance(80) { network.toggle(place) } else { network.move(place) }
        promise.note("links \(network.links.map { "\($0.name) \($0.isUp)" })")
        networkChanged()
        guard chance(25) else { return }
        // A flap shorter than what is announced.
        plan(after: span(.milliseconds(10)...(.milliseconds(1_400)))) { world in
            guard !world.isHealed else { return }
            world.network.toggle(place)
            world.promise.note("links \(world.network.links.map { "\($0.name) \($0.isUp)" })")
            world.networkChanged()
        }
    }

    private func changeNameServer() {
        network.nameServer =
            chance(50) ? .answering : SimulatedNetwork.NameServer.allCases.randomElement(using: &random) ?? .silent
        network.hasSecondAddress = chance(50)
    }

    private func changeMood() {
        guard let name = settings.destinations.randomElement(using: &random)?.name else { return }
        let mood = SimulatedCollector.mood(&random)
        collectors[name]?.mood = mood
        promise.note("\(name) is \(mood)")
    }

    private func end() {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4: crash(.kill)
        case 4..<7: crash(.powerCut)
        case 7..<9: disk.crashStep = disk.steps + Int.random(in: 0..<10, using: &random)
        default: if now >= asleepUntil { process?.stop() }
        }
    }

    private func operate() {
        guard now >= asleepUntil, let name = settings.destinations.randomElement(using: &random)?.name else { return }
        promise.flushed(name)
        process?.tell(.flush(destination: name))
        process?.endTurn()
    }

    /// The category whose events are posted, held, denied, purged and allowed.
    static let category = "ads"

    func changeConsent() {
        switch Int.random(in: 0..<100, using: &random) {
        case _ where isHealed: give(.consent(category: Self.category, .allow))
        case 0..<45: give(.consent(category: Self.category, .allow))
        case 45..<62: give(.consent(category: Self.category, .hold))
        case 62..<85: deny()
        default: give(.purge(category: Self.category))
        }
    }

    private func deny() {
        let purgeFails = settings.hasDiskErrors && !isHealed && chance(30)
        give(.consent(category: Self.category, .deny), purgeFails: purgeFails)
        guard !purgeFails, chance(60) else { return }
        plan(after: span(.milliseconds(5)...(.seconds(20)))) { $0.give(.consent(category: Self.category, .allow)) }
    }

    private func takeCategoryOut() {
        if chance(60) { deny() } else { give(.purge(category: Self.category)) }
    }

    /// An event on its way, a dead letter, or one of the newest is to be purged.
    private func purgeEvent() {
        let flying = process?.flights.values.flatMap(\.events).sorted() ?? []
        let letters = promise.tracks.values.flatMap(\.letters).sorted()
        let newest = promise.told.sorted().suffix(40)
        let wanted = chance(40) ? flying : chance(40) ? letters : Array(newest)
        guard let event = wanted.randomElement(using: &random) else { return }
        purge(event)
    }

    private func purge(_ event: Int) {
        guard let id = promise.ids[event] else { return }
        give(.purgeEvent(id: id.text.text))
    }

    /// Orders come while what they forbid is on its way, too.
    func mayInterfere(with events: [Int]) {
        guard !isHealed, let event = events.randomElement(using: &random) else { return }
        let isForCategory = promise.posts[event]?.log == Promise.consentLog
        guard chance(isForCategory ? 8 : 3) else { return }
        plan(after: span(.zero ... .milliseconds(150))) { world in
            if isForCategory, world.chance(80) { world.takeCategoryOut() } else { world.purge(event) }
        }
    }

    /// Has an order given, which may meet a crash, or a disk that fails.
    ///
    /// `purgeFails`: the state of a category becomes durable, and what follows does not.
    private func give(_ order: OperatorOrder, purgeFails: Bool = false) {
        guard now >= asleepUntil, let process, !process.isStopping else { return }
        if !isHealed {
            if chance(20) { disk.crashStep = disk.steps + Int.random(in: 0..<20, using: &random) }
            if purgeFails {
                failDisk()
                disk.failingSyncs = max(1, disk.failingSyncs)
                disk.syncsBeforeFailing = Int.random(in: 1...2, using: &random)
            } else if settings.hasDiskErrors, chance(50) {
                failDisk()
                disk.syncsBeforeFailing = Int.random(in: 0...3, using: &random)
            }
        }
        process.carryOut(order)
        process.endTurn()
    }

    /// Operators send some dead letters again and drop others; those that fill their share hold their destination.
    private func dropLetters() {
        guard isHealed || chance(30), let name = settings.destinations.randomElement(using: &random)?.name else {
            return
        }
        // Somebody has looked at what is refused, behind which there may be nothing that would tell of others.
        let unit = process?.coordinator.units.first { $0.name == name }
        if isHealed, now >= asleepUntil, unit?.delivery.status.reason == .refusing {
            promise.flushed(name)
            process?.tell(.resume(destination: name))
        }
        // A small queue may be full without a letter, and hold what it has no room to set apart.
        if isHealed, let event = promise.tracks[name]?.unburied, process?.queue.deadLetters(limit: 1).isEmpty ?? false {
            purge(event)
        }
        process?.postToDisk(isHealed || chance(40) ? .drop(destination: name) : .retry(destination: name))
    }

    private func sleep() {
        guard chance(50), let life = process?.life, now >= asleepUntil else { return }
        asleepUntil = now + span(.seconds(2)...(.seconds(60)))
        promise.sleeps(from: now, until: asleepUntil)
        plan(after: asleepUntil - now) { world in
            guard let process = world.process, process.life == life else { return }
            process.tell(.resumed)
            process.endTurn()
        }
    }

    private func hangDisk() {
        guard chance(30) else { return }
        diskHangsUntil = now + span(.milliseconds(100)...(.seconds(15)))
        promise.diskIsWrong(until: diskHangsUntil)
        promise.note("disk hangs")
    }

    private func failDisk() {
        disk.errno = chance(50) ? .io : .noSpace
        if chance(60) {
            disk.failingSyncs = Int.random(in: 1...3, using: &random)
        } else {
            disk.failingWrites = Int.random(in: 1...2, using: &random)
        }
        promise.diskIsWrong(until: now)
        promise.note("disk fails \(disk.failingSyncs) syncs, \(disk.failingWrites) writes")
    }
}

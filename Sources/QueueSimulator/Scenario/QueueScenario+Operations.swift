internal import Bytes
internal import Gates
internal import Queue

/// What happens in the life of a queue.
enum Operation: CaseIterable {
    case commit, send, acknowledge, catchUp, loseAnswer, loseRequest, lateAnswer, refuse, synchronise, purge, purgeLog,
        squeeze
    case housekeep, fault, wait, use, stop, kill, powerCut
    /// Drawn apart (`QueueScenario.consentRandom`).
    case consent

    /// How often it comes, relative to the others.
    private var weight: Int {
        switch self {
        case .send, .acknowledge: 24
        case .commit: 26
        case .housekeep: 8
        case .purge: 5
        case .synchronise, .refuse, .lateAnswer, .fault: 4
        case .loseAnswer, .loseRequest, .squeeze, .wait: 3
        case .catchUp: 4
        case .consent: 0
        case .purgeLog, .use, .stop, .kill, .powerCut: 1
        }
    }

    /// All of them, and all but `catchUp`.
    static let wheel = allCases.flatMap { [Operation](repeating: $0, count: $0.weight) }
    static let wheelWithoutCatchingUp = wheel.filter { $0 != .catchUp }
}

extension QueueScenario {
    func act(_ operation: Operation) throws(Truth.Violation) {
        switch operation {
        case .commit: try commit(to: (0..<QueueShape.logs).filter { _ in chance(50) })
        case .send: try send()
        case .acknowledge: try acknowledge()
        case .catchUp: try catchUp()
        case .loseAnswer: if let request = takeInFlight() { late.append(request) }
        case .loseRequest: _ = takeInFlight()
        case .lateAnswer: try answerLate()
        case .refuse: try refuse()
        case .synchronise: synchroniseCursors()
        case .purge: try purge()
        case .purgeLog: try purgeLog()
        case .consent: try changeConsent()
        case .squeeze: try squeeze()
        case .housekeep: queue.housekeep(slices: Int.random(in: 1...6, using: &random), at: now)
        case .fault: inject()
        case .wait: now += Int.random(in: 1...3, using: &random)
        case .use: use()
        case .stop:
            let isClosed = queue.close()
            if isClosed { truth.cursorsAreDurable() }
            try restart(after: .kill)
        case .kill: try restart(after: .kill)
        case .powerCut: try restart(after: .powerCut)
        }
    }

    func commit(to logs: [Int]) throws(Truth.Violation) {
        var batches: [(log: Int, posts: [Post])] = []
        // What is denied is refused at the door.
        let isDenied = truth.consents.contains(ConsentState.deny.rawValue)
        for log in logs where !isDenied || log < QueueShape.logs - 1 {
            let posts = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                nextToken += 1
                let deadline = chance(10) ? now + Int.random(in: 1...4, using: &random) : nil
                truth.deadlines[nextToken] = deadline
                unanswered.insert(nextToken)
                return Post(token: nextToken, deadline: deadline)
            }
            batches.append((log, posts))
        }
        guard !batches.isEmpty else { return }
        tally.commits += 1
        truth.evictable = Set((logs.min() ?? 0)..<QueueShape.logs)
        let accepted = queue.commit(batches, at: now)
        lastCommitFailed = accepted.count < batches.count
        guard !queue.hasCrashed else { return }
        if lastCommitFailed { tally.refusals += 1 }
        for (log, posts) in batches {
            guard let taken = accepted[log] else {
                note("  log \(log) refuses \(posts.map(\.token))")
                continue
            }
            note("  log \(log) from \(taken.first): \(posts.map(\.token))")
            for (index, post) in posts.enumerated() {
                let place = Truth.Place(log: log, sequence: taken.first + index)
                try truth.require(
                    truth.acknowledged[log][place.sequence] == nil, .lost, "\(place) was given to another event")
                truth.acknowledged[log][place.sequence] = Truth.Posted(token: post.token, epoch: taken.epoch)
                unanswered.remove(post.token)
                tally.events += 1
            }
        }
    }

    private func send() throws(Truth.Violation) {
        let destination = used[Int.random(in: 0..<used.count, using: &random)]
        let log = Int.random(in: 0..<QueueShape.logs, using: &random)
        let pair = Truth.Pair(destination: destination, log: log)
        guard !inFlight.contains(where: { $0.pair == pair }), let account = truth.accounts[pair] else { return }
        let items = queue.read(destination, log, events: Int.random(in: 1...8, using: &random), at: now)
        guard !queue.hasCrashed else { return }
        try look()
        guard !items.isEmpty else { return }
        let request = Request(destination: destination, log: log, items: items)
        note("  destination \(destination), log \(log): \(items[0].sequence) to \(items[items.count - 1].sequence)")
        try truth.look(at: items, pair, from: account.low, now: now)
        try truth.send(request.sent, pair)
        guard !request.sent.isEmpty else { return try settle(destination, log, request.fates) }
        inFlight.append(request)
        tally.requests += 1
    }

    /// A collector takes all of a log, and while it takes what is written behind that, yet more is.
    private func catchUp() throws(Truth.Violation) {
        let free = truth.pairs.filter { pair in
            used.contains(pair.destination) && !inFlight.contains { $0.pair == pair }
        }
        guard let pair = free.randomElement(using: &random) else { return }
        while try deliver(pair, events: 8) {}
        for _ in 0..<2 {
            for _ in 0..<Int.random(in: 1...4, using: &random) where !queue.hasCrashed { try commit(to: [pair.log]) }
            guard !queue.hasCrashed, try deliver(pair, events: 1) else { return }
        }
        while try deliver(pair, events: 1) {}
    }

    /// Has a destination read, take and settle what comes next; false where nothing does.
    func deliver(_ pair: Truth.Pair, events: Int) throws(Truth.Violation) -> Bool {
        let items = queue.read(pair.destination, pair.log, events: events, at: now)
        guard !queue.hasCrashed, let first = items.first, let last = items.last else { return false }
        try look()
        let low = truth.accounts[pair]?.low ?? 1
        note("  \(pair): \(first.sequence) to \(last.sequence) at once")
        let request = Request(destination: pair.destination, log: pair.log, items: items)
        try truth.look(at: items, pair, from: low, now: now)
        try truth.send(request.sent, pair)
        truth.take(request.sent, pair)
        try settle(request.destination, request.log, request.fates)
        return true
    }

    private func takeInFlight() -> Request? {
        guard !inFlight.isEmpty else { return nil }
        return inFlight.remove(at: Int.random(in: 0..<inFlight.count, using: &random))
    }

    private func acknowledge() throws(Truth.Violation) {
        guard let request = takeInFlight() else { return }
        note("  destination \(request.destination), log \(request.log): through \(request.items.last?.sequence ?? 0)")
        truth.take(request.sent, request.pair)
        try settle(request.destination, request.log, request.fates)
    }

    private func answerLate() throws(Truth.Violation) {
        guard !late.isEmpty else { return }
        let request = late.remove(at: Int.random(in: 0..<late.count, using: &random))
        truth.take(request.sent, request.pair)
        try settle(request.destination, request.log, request.fates)
    }

    /// Tells truth first: a crash in the call may leave any part of it.
    func settle(_ destination: Int, _ log: Int, _ fates: [(sequence: Int, fate: Fate)]) throws(Truth.Violation) {
        try truth.settle(Truth.Pair(destination: destination, log: log), fates, now: now)
        queue.settle(destination, log, fates)
    }

    /// The collector refused the first event of a request for good: the letter is durable before the cursor moves.
    private func refuse() throws(Truth.Violation) {
        guard let request = takeInFlight(), let refused = request.sent.first else { return }
        try settle(request.destination, request.log, request.fates.filter { $0.sequence < refused.sequence })
        let low = truth.accounts[request.pair]?.low
        guard !queue.hasCrashed, low == refused.sequence else { return }
        let letter = Truth.Delivery(pair: request.pair, sequence: refused.sequence)
        truth.lettersAsked.insert(letter)
        note("  \(letter.pair): \(letter.sequence)")
        let fates = [(sequence: refused.sequence, fate: Fate.dead)]
        try truth.settle(request.pair, fates, now: now)
        if queue.bury(request.destination, request.log, refused) {
            truth.letters.insert(letter)
            tally.letters += 1
            queue.settle(request.destination, request.log, fates)
        } else if !queue.hasCrashed {
            truth.takeBack(request.pair)
        }
    }

    private func synchroniseCursors() {
        if queue.synchroniseCursors() { truth.cursorsAreDurable() }
    }

    private func purge() throws(Truth.Violation) {
        let log = Int.random(in: 0..<QueueShape.logs, using: &random)
        let next = queue.accepted(log) + 1
        guard next > 1 else { return }
        let from = Int.random(in: max(1, next - (chance(50) ? 2 : 8))..<next, using: &random)
        let range = from...min(next - 1, from + Int.random(in: 0...2, using: &random))
        let epochs = range.compactMap { truth.acknowledged[log][$0]?.epoch }
        guard epochs.count == range.count else { return }
        note("  log \(log): \(range)")
        let places = range.map { Truth.Place(log: log, sequence: $0) }
        truth.purge(places)
        cancelRequests(of: log)
        guard queue.purge(range, of: log, epochs: epochs), !queue.hasCrashed else { return }
        truth.purged.formUnion(places)
        tally.purged += places.count
    }

    /// Holds, allows, or denies, which purges; what was denied and is allowed again starts clean.
    private func changeConsent() throws(Truth.Violation) {
        let state = ConsentState.allCases[Int(consentRandom.next() % 3)]
        guard keep(consent: state), state == .deny else { return }
        try purgeLog()
        if !queue.hasCrashed { _ = keep(consent: .allow) }
    }

    /// True once the state is durable; of one that failed, a crash may bring the old or the new.
    private func keep(consent state: ConsentState) -> Bool {
        truth.consents.insert(state.rawValue)
        note("  \(state)")
        guard queue.keep(consent: state.rawValue), !queue.hasCrashed else { return false }
        truth.consents = [state.rawValue]
        return true
    }

    /// What a start finds is what was kept; what it finds denied it purges, whatever a crash has left of that.
    func takeUpConsent() throws(Truth.Violation) {
        guard let found = queue.consent else {
            let mayBeLost = plan.faults.contains { $0.damages || $0 == .failingReads }
            return try truth.require(mayBeLost, .lost, "the state of consent is lost")
        }
        try truth.require(
            truth.consents.contains(found), .lost, "consent is \(found) and was to be of \(truth.consents)")
        truth.consents = [found]
        if found == ConsentState.deny.rawValue { try purgeLog() }
    }

    private func purgeLog() throws(Truth.Violation) {
        let log = QueueShape.logs - 1
        let accepted = queue.accepted(log)
        guard accepted > 0 else { return }
        let places = (1...accepted).map { Truth.Place(log: log, sequence: $0) }
        truth.purge(places)
        cancelRequests(of: log)
        guard queue.purge(log), !queue.hasCrashed else { return }
        truth.purged.formUnion(places)
        try look()
        for pair in truth.pairs where pair.log == log {
            try truth.require(truth.accounts[pair]?.low == accepted + 1, "\(pair) waits for what was purged")
        }
    }

    /// Requests in flight when an operator purges are cancelled; their answers are not heard.
    private func cancelRequests(of log: Int) {
        inFlight.removeAll { $0.log == log }
        late.removeAll { $0.log == log }
    }

    private func squeeze() throws(Truth.Violation) {
        let log = Int.random(in: 0..<QueueShape.logs, using: &random)
        note("  for log \(log)")
        truth.hasFailed = true
        truth.evictable = queue.squeeze(log)
        try look()
        if !queue.hasCrashed { try commit(to: [log]) }
        queue.relieve()
    }

    private func inject() {
        let allowed = InjectedFault.allCases.filter(plan.faults.contains)
        guard let fault = allowed.randomElement(using: &random), queue.inject(fault) else { return }
        note("  \(fault)")
        tally.faults[fault, default: 0] += 1
        if fault.isError { truth.hasFailed = true }
        if fault == .damagedCursors { truth.slotsDamaged = true }
    }

    private func use() {
        if used.contains(2) { used.removeAll { $0 == 2 } } else { used.append(2) }
        note("  \(used)")
        inFlight.removeAll { !used.contains($0.destination) }
        queue.use(used)
    }
}

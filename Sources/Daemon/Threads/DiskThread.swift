internal import Posix
internal import Queue
internal import Reactor
internal import Time

/// The disk's thread: the only one that touches the queue's files.
///
/// It does what waits in this order: commits, one read for delivery, one slice of housekeeping. It never waits for the
/// loop's thread.
final class DiskThread {
    /// A snapshot goes out at most this often while work comes in.
    private static let snapshotInterval = Duration.milliseconds(100)

    let queue: Queue
    private var desk: LetterDesk
    private let requests: BlockingMailbox<DiskRequest>
    let replies: Mailbox<DiskReply>
    private let pulse: DiskPulse
    private let ageClock: AgeClock
    private var reads: [DiskRequest] = []
    /// Orders of which slices are left, no more than the loop lets wait.
    var longOrders: [(number: UInt64, order: LongOrder)] = []
    /// True where the newest slice was one of an order.
    private var wasOrder = false
    private var lastSnapshot = Instant(nanoseconds: 0)
    var snapshotIsDue = false
    /// What the newest snapshot says of the storage, and which lanes are refused.
    private var shown = (storage: QueueSnapshot.Storage.good, refused: [LogName]())
    private var shownBytes: UInt64?
    /// True where a slice of housekeeping was done since the last commit, or before it.
    private var didSlice = false
    /// Until when the next commit goes before a slice.
    private var restsUntil = Instant(nanoseconds: 0)
    private var isStopping = false

    /// Starts the thread; it opens the queue, tells how that went, and serves requests until `stop`.
    static func start(
        _ settings: QueueSettings, requests: BlockingMailbox<DiskRequest>, replies: Mailbox<DiskReply>, pulse: DiskPulse
    ) throws(Errno) -> Posix.Thread {
        try Posix.Thread(name: "disk") {
            pulse.begin()
            do throws(QueueError) {
                let queue = try Queue.open(
                    FileStorage(directory: settings.directory, didRead: pulse.addRead).withFault,
                    options: settings.options, destinations: settings.destinations, at: Clock.wall,
                    randomBits: SystemRandom.bits)
                let thread = DiskThread(queue, requests, replies, pulse)
                replies.post(.opened(queue.recovery, queue.snapshot))
                thread.run()
            } catch {
                replies.post(.openFailed(error))
            }
        }
    }

    private init(
        _ queue: Queue, _ requests: BlockingMailbox<DiskRequest>, _ replies: Mailbox<DiskReply>, _ pulse: DiskPulse
    ) {
        self.queue = queue
        desk = LetterDesk(queue)
        self.requests = requests
        self.replies = replies
        self.pulse = pulse
        ageClock = AgeClock(restoring: queue.recovery)
    }

    private func run() {
        var next: Instant? = Clock.now
        queue.keep(ageClock.record)
        pulse.end()
        while !isStopping {
            let waiting = take(until: reads.isEmpty ? next : Clock.now)
            pulse.begin()
            let hadCommit = serve(waiting)
            next = housekeep(at: Clock.now, afterCommit: hadCommit)
            tellFailures()
            pulse.end()
        }
        pulse.begin()
        let last = queue.snapshot
        queue.keep(ageClock.record)
        queue.close()
        pulse.end()
        replies.post(.snapshot(last))
        replies.post(.stopped)
    }

    /// What waits; blocks until there is something, or until `deadline`, or for as long as it takes where that is nil.
    private func take(until deadline: Instant?) -> [DiskRequest] {
        let now = Clock.now
        guard let deadline else { return requests.drain(waitingAtMost: .seconds(86_400)) }
        return deadline <= now ? requests.drain() : requests.drain(waitingAtMost: deadline - now)
    }

    /// True where there was a commit.
    private func serve(_ waiting: [DiskRequest]) -> Bool {
        var hadCommit = false
        for request in waiting {
            guard case .commit(let ordinal, let batches) = request else { continue }
            commit(ordinal, batches)
            hadCommit = true
        }
        for request in waiting { settle(request) }
        if !reads.isEmpty { read(reads.removeFirst()) }
        return hadCommit
    }

    /// One slice of housekeeping, and a snapshot if it is time; when to come again, nil for not by itself.
    ///
    /// Of two commits in a row only one has a slice behind it: what came too late for the first waits for one slice,
    /// not for two. The next is waited for as long as a sync takes.
    private func housekeep(at now: Instant, afterCommit: Bool) -> Instant? {
        if afterCommit && didSlice {
            didSlice = false
            restsUntil = now + .microseconds(queue.lastSyncMicroseconds)
        }
        guard now >= restsUntil else { return restsUntil }
        let before = queue.bytesOnDisk
        let next = doSlice(at: now)
        tellMoves()
        tellDamages()
        didSlice = next.map { $0 <= now } ?? false
        let condition = queue.condition
        if before != queue.bytesOnDisk || (condition.storage, condition.refused) != shown { snapshotIsDue = true }
        guard snapshotIsDue else { return next }
        let due = lastSnapshot + Self.snapshotInterval
        guard due <= now else { return min(next ?? due, due) }
        sendSnapshot(at: now)
        return next
    }

    /// One slice of an order or of housekeeping, in turn; when to come again, nil for not by itself.
    private func doSlice(at now: Instant) -> Instant? {
        wasOrder = !wasOrder && !longOrders.isEmpty
        if wasOrder { advanceOrders() }
        let next = wasOrder ? now : queue.housekeep(at: now, age: age)
        return longOrders.isEmpty ? next : now
    }

    private func commit(_ ordinal: UInt64, _ sealed: BatchHandover) {
        var batches = sealed.take()
        let wall = AgeClock.wall ?? WallTime(milliseconds: RecordLayout.noWallTime)
        let outcomes = queue.commit(&batches, at: wall, age: age)
        tellMoves()
        // How full it is, is told before what follows from that.
        if shownBytes != queue.bytesOnDisk, outcomes.contains(where: { $0.isRefusalForRoom }) {
            sendSnapshot(at: Clock.now)
        }
        replies.post(.committed(ordinal: ordinal, outcomes, BatchHandover(batches)))
        snapshotIsDue = true
    }

    /// Everything but commits, which went before.
    private func settle(_ request: DiskRequest) {
        switch request {
        case .commit: return
        case .read: reads.append(request)
        case .settle(let destination, let log, let dispositions):
            queue.settle(destination: destination, log: log, dispositions)
            snapshotIsDue = true
        case .bury(let destination, let id, let log, let sequence, let refusal):
            let outcome = desk.bury(sequence, of: log, for: destination, refusal, at: Clock.wall)
            replies.post(.buried(destination: destination, id: id, outcome))
        case .letter(let destination, let id, let passage):
            replies.post(.letter(destination: destination, id: id, desk.next(of: destination, by: passage)))
        case .resolve(let name):
            desk.resolve(name)
            snapshotIsDue = true
        case .order(let number, let order):
            let answer = carryOut(order, number)
            tellMoves()
            if let answer { replies.post(.carriedOut(number: number, answer)) }
        case .keepConsent(let states): try? queue.keep(consent: states)
        case .destinations(let names):
            queue.use(destinations: names)
            replies.post(.destinations(queue.snapshot))
        case .clockSet: queue.keep(ageClock.record)
        case .snapshot: replies.post(.answer(queue.snapshot, oldest: oldestAges()))
        case .stop: isStopping = true
        }
    }

    private func read(_ request: DiskRequest) {
        guard case .read(let destination, let id, let log, let from, let limit) = request else { return }
        // What was forgotten since may be gone.
        guard queue.cursor(destination: destination, log: log) != nil else {
            return replies.post(.chunk(destination: destination, id: id, nil))
        }
        do throws(QueueError) {
            let chunk = try queue.read(log, for: destination, from: from, limit: limit, age: age)
            replies.post(.chunk(destination: destination, id: id, chunk))
        } catch {
            replies.post(.readFailed(destination: destination, id: id, error))
        }
        tellDamages()
    }

    private func tellDamages() {
        let damages = queue.takeDamages()
        if !damages.isEmpty { replies.post(.damaged(damages)) }
        let strays = queue.takeStrays()
        if !strays.isEmpty { replies.post(.strays(strays)) }
    }

    private func tellFailures() {
        let failures = queue.takeFailures()
        if !failures.isEmpty { replies.post(.failed(failures)) }
    }

    /// Tells of logs that were read late and of cursors that moved by themselves, before anything is told of what was
    /// read or committed behind them.
    private func tellMoves() {
        let late = queue.takeLateLogs()
        if !late.isEmpty { replies.post(.late(late)) }
        let moves = queue.takeMoves()
        if !moves.isEmpty { replies.post(.moved(moves)) }
    }

    var age: UInt64 { ageClock.milliseconds(at: Clock.now) }

    private func oldestAges() -> [String: Duration] {
        let age = age
        let ages = Set(queue.snapshot.cursors.map(\.destination)).map { name in
            (name, queue.oldestAge(of: name, at: age).map { Duration.milliseconds($0) })
        }
        return Dictionary(uniqueKeysWithValues: ages).compactMapValues { $0 }
    }

    private func sendSnapshot(at now: Instant) {
        snapshotIsDue = false
        lastSnapshot = now
        let snapshot = queue.snapshot
        shown = (snapshot.storage, snapshot.refused)
        shownBytes = snapshot.bytes
        replies.post(.snapshot(snapshot))
    }
}

extension CommitOutcome {
    fileprivate var isRefusalForRoom: Bool {
        if case .refused(let error) = self { error.isLackOfRoom } else { false }
    }
}

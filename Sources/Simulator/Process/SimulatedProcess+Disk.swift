internal import Control
internal import Daemon
internal import Delivery
internal import Queue
internal import QueueSimulator
internal import Time

/// What the loop's thread asks of the disk's.
enum DiskWork {
    case commit(ordinal: UInt64, BatchHandover)
    case read(destination: String, id: UInt64, LogName, from: UInt64, limitBytes: Int)
    case settle(destination: String, LogName, [Disposition])
    case bury(destination: String, id: UInt64, LogName, sequence: UInt64, EventRefusal)
    case letter(destination: String, id: UInt64, Passage)
    case resolve(DeadLetterName)
    case drop(destination: String)
    case retry(destination: String)
    /// A state of the category, or a purge.
    case order(OperatorOrder, untilDone: Bool)
    case stop
}

/// The disk's thread, in the order of the real one: commits, what else waits, one read, one slice of housekeeping.
extension SimulatedProcess {
    func postToDisk(_ work: DiskWork) {
        diskWaiting.append(work)
        planDisk(after: world.diskDelay())
    }

    /// Has the disk's thread turn after `span`, unless it does so sooner anyway.
    func planDisk(after span: Duration) {
        let at = world.now + span
        if let planned = diskTurn, planned.at <= at { return }
        diskTurns += 1
        let serial = diskTurns
        diskTurn = (at, serial)
        world.plan(life, after: span) { process in
            guard process.diskTurn?.serial == serial else { return }
            process.turnDisk()
        }
    }

    private func turnDisk() {
        diskTurn = nil
        // A fault meets the next call, which after a sleep comes long after it was planned.
        if world.disk.failingSyncs + world.disk.failingWrites > 0 { world.promise.diskIsWrong(until: world.now) }
        let work = diskWaiting
        diskWaiting = []
        for case .commit(let ordinal, let batches) in work { commit(ordinal, batches) }
        for each in work { serve(each) }
        if !diskReads.isEmpty { read(diskReads.removeFirst()) }
        guard !world.endsByDisk() else { return }
        world.promise.checkLedgers(queue)
        if queue.cursorsFailing != cursorsFail {
            cursorsFail = queue.cursorsFailing
            reply(.cursors(areDurable: !cursorsFail))
        }
        world.spendDiskTime()
        if !diskWaiting.isEmpty || !diskReads.isEmpty { return planDisk(after: world.diskDelay()) }
        let next = queue.housekeep(at: world.now, age: age)
        guard !world.endsByDisk() else { return }
        tellMoves()
        world.spendDiskTime()
        if let next { planDisk(after: max(next - world.now, world.diskDelay())) }
    }

    private func serve(_ work: DiskWork) {
        switch work {
        case .commit: return
        case .read: diskReads.append(work)
        case .settle(let destination, let log, let dispositions):
            queue.settle(destination: destination, log: log, dispositions)
            guard !world.disk.hasCrashed else { return }
            world.promise.cursorMoved(destination, log, queue, at: world.now)
        case .bury(let destination, let id, let log, let sequence, let refusal):
            world.promise.buries(sequence, of: log, for: destination)
            let outcome = desk.bury(sequence, of: log, for: destination, refusal, at: world.wall)
            guard !world.disk.hasCrashed else { return }
            world.promise.buried(sequence, of: log, for: destination, outcome)
            reply(.buried(destination: destination, id: id, outcome))
        case .letter(let destination, let id, let passage):
            let found = desk.next(of: destination, by: passage)
            guard !world.disk.hasCrashed else { return }
            reply(.letter(destination: destination, read: id, found))
        case .resolve(let name): desk.resolve(name)
        case .retry(let destination):
            _ = try? queue.retry(queue.deadLetters(of: destination, limit: 3).map(\.name))
            guard !world.disk.hasCrashed else { return }
            reply(.lettersChanged)
        case .order(let order, let untilDone):
            world.promise.carriesOut(order, queue)
            let answer = carryOut(order, queue)
            guard !world.disk.hasCrashed else { return }
            let last = world.promise.carriedOut(order, answer, queue)
            tellMoves()
            reply { $0.carriedOut(order, untilDone: untilDone, answer, through: last) }
        case .drop(let destination):
            _ = try? queue.drop(queue.deadLetters(of: destination, limit: 4).map(\.name))
        case .stop:
            queue.close()
            world.leave()
        }
    }

    private func commit(_ ordinal: UInt64, _ sealed: BatchHandover) {
        var batches = sealed.take()
        let outcomes = queue.commit(&batches, at: world.wall, age: age)
        tellMoves()
        reply(.committed(ordinal: ordinal, outcomes, BatchHandover(batches)))
    }

    private func read(_ work: DiskWork) {
        guard case .read(let destination, let id, let log, let from, let limit) = work else { return }
        do throws(QueueError) {
            let chunk = try queue.read(log, for: destination, from: from, limit: limit, age: age)
            reply(.chunk(destination: destination, read: id, chunk))
        } catch {
            reply(.readFailed(destination: destination, read: id))
        }
    }

    private func tellMoves() {
        let moves = queue.takeMoves()
        if !moves.isEmpty { reply(.moved(moves)) }
    }

    /// The age clock, milliseconds.
    private var age: UInt64 { UInt64(world.now.nanoseconds / 1_000_000) }

    private func reply(_ event: CoordinatorEvent) { reply { $0.tell(event) } }

    /// Has the loop's thread take an answer; one after the other.
    private func reply(_ body: @escaping (SimulatedProcess) -> Void) {
        let at = max(lastReply, world.now + world.disk.elapsed + world.span(.zero ... .milliseconds(1)))
        lastReply = at
        world.plan(life, after: at - world.now, body)
    }

    /// The answer to an order about consent; its letters go in slices, one after the other.
    private func carryOut(_ order: OperatorOrder, _ queue: Queue) -> OperatorAnswer {
        switch ConsentDesk(queue).begin(order) {
        case .done(let answer): return answer
        case .letters(var rest):
            while true {
                if let answer = rest.advance(in: queue) { return answer }
            }
        }
    }
}

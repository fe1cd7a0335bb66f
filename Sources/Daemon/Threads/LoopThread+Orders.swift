internal import Control
internal import Queue
internal import Reactor
internal import SystemdService
internal import Time

/// Who waits for orders that the disk's thread carries out.
struct OrderDesk {
    /// So many orders may wait.
    private static let limit = 64

    private var number: UInt64 = 0
    private var waiting: [UInt64: (order: OperatorOrder, done: (OperatorAnswer) -> Void)] = [:]

    /// The number of an order; nil where too many wait.
    mutating func put(_ order: OperatorOrder, _ done: @escaping (OperatorAnswer) -> Void) -> UInt64? {
        guard waiting.count < Self.limit else { return nil }
        number += 1
        waiting[number] = (order, done)
        return number
    }

    mutating func take(_ number: UInt64) -> (order: OperatorOrder, done: (OperatorAnswer) -> Void)? {
        waiting.removeValue(forKey: number)
    }
}

extension LoopThread {
    func carryOut(_ order: OperatorOrder, _ done: @escaping (OperatorAnswer) -> Void) {
        switch order {
        case .pause(let name, let span):
            guard isConfigured(name) else { return done(.unknown(destination: name)) }
            log.log(.destinationPaused(name, for: span))
            tell(.pause(destination: name, until: span.map { loop.now + $0 }))
            done(.done)
        case .resume(let name):
            guard isConfigured(name) else { return done(.unknown(destination: name)) }
            log.log(.destinationResumed(name))
            tell(.resume(destination: name))
            done(.done)
        case .probe(let name): probe(name, done)
        // Only the disk's thread knows what is kept now, and for whom.
        case .forget, .rename, .logs, .event, .letters, .retry: _ = post(order, done)
        // What was read to be sent again may be among them.
        case .drop: if post(order, done) { tell(.lettersChanged) }
        case .consent, .purge, .purgeEvent: carryOut(consent: order, done)
        }
    }

    func carriedOut(_ number: UInt64, _ answer: OperatorAnswer) {
        guard let (order, done) = orders.take(number) else { return }
        if let notice = notice(of: order, answer) { log.log(notice) }
        switch order {
        case .rename(let name, let new): if case .done = answer { lossWatch.rename(name, to: new) }
        case .retry, .drop: tell(.lettersChanged)
        case .consent, .purge, .purgeEvent: carriedOut(consent: order, answer)
        default: break
        }
        done(answer)
    }

    /// Has the disk's thread carry out an order; false where too many wait.
    func post(_ order: OperatorOrder, _ done: @escaping (OperatorAnswer) -> Void) -> Bool {
        guard let number = orders.put(order, done) else {
            done(.failed("too many orders wait for the disk"))
            return false
        }
        requests.post(.order(number: number, order))
        return true
    }

    private func notice(of order: OperatorOrder, _ answer: OperatorAnswer) -> Notice? {
        switch (order, answer) {
        case (.retry, .count(let count)) where count > 0: .lettersRetried(count)
        case (.drop, .count(let count)) where count > 0: .lettersDropped(count)
        case (.forget(let name), .count(let count)): .destinationForgotten(name, events: count)
        case (.rename(let name, let new), .done): .destinationRenamed(name, to: new)
        case (.consent(let category, _), .consent(_, let count)) where count > 0,
            (.purge(let category), .purged(let count)) where count > 0:
            .eventsPurged(count, category: category)
        case (.purgeEvent, .purged(let count)) where count > 0: .eventsPurged(count, category: nil)
        default: nil
        }
    }

    private func isConfigured(_ name: String) -> Bool { coordinator.units.contains { $0.name == name } }
}

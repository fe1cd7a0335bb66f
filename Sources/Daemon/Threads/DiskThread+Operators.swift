internal import Bytes
internal import Control
internal import Gates
internal import Queue

/// Orders of operators that are for the queue.
extension DiskThread {
    /// So many dead letters are shown at once.
    private static let pageOfLetters = 32

    /// Carries out an order; nil where it is answered later, by `advanceOrders`.
    func carryOut(_ order: OperatorOrder, _ number: UInt64) -> OperatorAnswer? {
        do throws(QueueError) {
            snapshotIsDue = true
            switch order {
            case .logs: return .logs(logs())
            case .event(let id):
                let event = try EventID(text: Array(id.utf8)).flatMap { id throws(QueueError) in
                    try queue.event(id, at: age)
                }
                return event.map { .event(EventReport($0)) } ?? .unknown("no event of that id is kept in the queue")
            case .letters(let destination?, _, _) where !queue.knows(destination: destination):
                return .unknown(destination: destination)
            case .letters(let destination, let id, let after): return try letters(destination, id, after)
            case .retry(let selection), .drop(let selection): return try dispose(selection, order, number)
            case .forget(let destination):
                // Its letters first, of which there may be many.
                guard queue.knows(destination: destination), !queue.isConfigured(destination) else {
                    return answer(try queue.forget(destination: destination), order)
                }
                let letters = queue.beginDrop(.all(of: [destination]))
                let rest = LongOrder(letters) { [self] dropped throws(QueueError) in
                    let answer = answer(try queue.forget(destination: destination), order)
                    guard case .count(let count) = answer else { return answer }
                    return .count(count + dropped)
                }
                longOrders.append((number, rest))
                return nil
            case .rename(let destination, let name):
                return answer(try queue.rename(destination: destination, to: name), order)
            case .consent, .purge, .purgeEvent:
                switch ConsentDesk(queue).begin(order) {
                case .done(let answer): return answer
                case .letters(let rest): longOrders.append((number, rest))
                }
                return nil
            case .pause, .resume, .probe: return .done
            }
        } catch {
            return .failed("\(error)")
        }
    }

    private func logs() -> [LogReport] {
        let oldest = queue.oldestEvents(at: age)
        return queue.snapshot.logs.map { log in
            LogReport(
                name: log.name.text, events: log.events, bytes: log.bytes,
                oldest: oldest[log.name].map { EventReport($0) })
        }
    }

    private func dispose(
        _ selection: LetterSelection, _ order: OperatorOrder, _ number: UInt64
    ) throws(QueueError) -> OperatorAnswer? {
        if let name = selection.destination, !queue.knows(destination: name) { return .unknown(destination: name) }
        let wanted = try letters(of: selection)
        guard wanted.isKnown else { return .unknown("no dead letter has that id") }
        guard case .retry = order else {
            longOrders.append((number, LongOrder(queue.beginDrop(wanted.letters)) { .count($0) }))
            return nil
        }
        let sendable = wanted.letters.filter(queue.isConfigured)
        if sendable.destinations.isEmpty, let name = wanted.letters.destinations.first {
            return .conflict("\(name) is no longer configured, so nothing would send them: put its section back first")
        }
        longOrders.append((number, LongOrder(queue.beginRetry(sendable)) { .count($0) }))
        return nil
    }

    private func answer(_ outcome: RemovalOutcome, _ order: OperatorOrder) -> OperatorAnswer {
        switch (outcome, order) {
        case (.done(let count), .forget): .count(count)
        case (.isConfigured, .forget(let name)), (.isConfigured, .rename(let name, _)):
            .conflict("\(name) is configured: take its section out and reload first")
        case (.isUnknown, .forget(let name)), (.isUnknown, .rename(let name, _)): .unknown(destination: name)
        case (.hasLetters, .rename(let name, _)):
            .conflict("\(name) has dead letters, which keep its name: drop them first")
        case (.isTaken, .rename(_, let name)):
            .conflict("\(name) is there already: rename first, then configure it and reload")
        default: .done
        }
    }

    private func letters(
        _ destination: String?, _ id: String?, _ after: String?
    ) throws(QueueError) -> OperatorAnswer {
        if let id {
            guard let event = EventID(text: Array(id.utf8)) else { return .unknown("no dead letter has that id") }
            let names = try queue.deadLetters(ofEvents: [event], destination: destination)
            let reports = try self.reports(names)
            return reports.isEmpty
                ? .unknown("no dead letter has that id") : .letters(reports, next: nil, withEvents: true)
        }
        let place = after.flatMap { DeadLetterName(place: $0) }
        guard (after == nil) == (place == nil) else { return .unknown("there is no such place to go on from") }
        let page = queue.deadLetters(of: destination, after: place, limit: Self.pageOfLetters + 1)
        let shown = page.prefix(Self.pageOfLetters).map(\.name)
        let reports = try self.reports(Array(shown))
        let next = page.count > Self.pageOfLetters ? shown.last?.place : nil
        return .letters(reports, next: next, withEvents: false)
    }

    private func reports(_ names: [DeadLetterName]) throws(QueueError) -> [DeadLetterReport] {
        var reports: [DeadLetterReport] = []
        for name in names {
            if let report = try report(name) { reports.append(report) }
        }
        return reports
    }

    /// What there is to see of a letter; one that is damaged has no more than its place.
    private func report(_ name: DeadLetterName) throws(QueueError) -> DeadLetterReport? {
        do throws(QueueError) {
            guard let letter = try queue.deadLetter(name) else { return nil }
            return DeadLetterReport(
                id: letter.id.text.text, destination: letter.destination, log: letter.log.text, status: letter.status,
                detail: letter.detail.text, attempts: letter.attempts, at: letter.at, acceptedAt: letter.acceptedAt,
                isRetried: queue.isRetried(name), event: letter.event)
        } catch {
            guard case .damagedLetter = error else { throw error }
            return nil
        }
    }

    private func letters(
        of selection: LetterSelection
    ) throws(QueueError) -> (letters: MeantLetters, isKnown: Bool) {
        guard let ids = selection.ids else {
            let all = queue.destinationsWithLetters
            return (.all(of: selection.destination.map { all.intersection([$0]) } ?? all), true)
        }
        let events = ids.compactMap { EventID(text: Array($0.utf8)) }
        let names = try queue.deadLetters(ofEvents: Set(events), destination: selection.destination)
        return (.named(names), ids.isEmpty || !names.isEmpty)
    }
}

extension EventReport {
    fileprivate init(_ event: KeptEvent) {
        self.init(
            id: event.id.text.text, log: event.log.text, acceptedAt: event.acceptedAt, age: event.age,
            destinations: event.destinations, event: event.bytes)
    }
}

extension DeadLetterName {
    /// Where a listing goes on: `DESTINATION/LOG/NUMBER`.
    fileprivate var place: String { "\(destination)/\(log.text)/\(sequence)" }

    fileprivate init?(place: String) {
        let parts = place.split(separator: "/")
        guard parts.count == 3, let log = LogName(text: String(parts[1])), let sequence = UInt64(parts[2]) else {
            return nil
        }
        self.init(destination: String(parts[0]), log: log, sequence: sequence)
    }
}

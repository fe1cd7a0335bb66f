import Bytes
import Delivery
import Gates
import JSON
import Queue
import Reachability
import Testing
import Time

/// A `Destination` with a log in memory and hands on every lever; keeps the promises that hold at every moment.
struct Scene {
    /// A request in flight.
    struct Flight {
        let request: OutgoingRequest
        let at: Instant
        /// Nil for a check without events.
        let log: LogName?
        /// The sequence numbers in its body, by their `event_id`.
        let sequences: [UInt64]
    }

    /// An event of a log as its destination got it.
    struct Delivery: Equatable {
        let log: LogName
        let sequence: UInt64
        let wasQueued: Bool
        let reason: String?
    }

    /// An event that was refused for good.
    struct Letter: Equatable {
        let log: LogName
        let sequence: UInt64
        let refusal: EventRefusal
    }

    var now = Instant(nanoseconds: 1_000_000_000_000)
    var destination: Destination
    var context = AcceptContext(connectionType: .ethernet, closed: [])
    var logs: [LogName: [AcceptContext]] = [:]
    /// Sequence numbers whose bytes cannot be read.
    var damaged: [LogName: Set<UInt64>] = [:]
    var checksAreOff = false
    /// Reads wait here while this is true.
    var holdsReads = false
    var reads: [(id: UInt64, log: LogName, from: UInt64, limit: Int)] = []
    /// How many events a chunk has at most, so that batches span chunks.
    var chunkEvents = 25
    /// What becomes of refused events.
    var burialOutcome = BurialOutcome.kept(EventID(epoch: 1, sequence: 1))
    var burials: [(id: UInt64, letter: Letter)] = []
    /// Dead letters, in the order in which they were kept.
    var letters: [Letter] = []
    /// Dead letters that are to be sent again.
    var retried: [(log: LogName, sequence: UInt64)] = []
    var letterReads: [(id: UInt64, passage: Passage)] = []
    /// Those that were delivered.
    var resolved: [(log: LogName, sequence: UInt64)] = []
    var tokenReads = 0
    var flights: [Flight] = []
    var settled: [LogName: UInt64] = [:]
    var ledgers: [LogName: Ledger] = [:]
    var delivered: [Delivery] = []
    var proofs = 0
    var failures: [StateReason] = []
    var portals = 0
    var checksEnded = 0
    /// Whether more than a check may be sent.
    private var isOpen = false
    /// The requests that a check which is due may still send.
    private var checksToSend = 0
    var gateChanges = 0
    var notices: [DeliveryNotice] = []
    /// Every request sent: whether it is a check, its batch id, its attempt.
    var sent: [(isCheck: Bool, batch: String, attempt: String)] = []

    static func settings(_ change: (inout DestinationSettings) throws -> Void = { _ in }) throws -> DestinationSettings
    {
        var settings = DestinationSettings(name: "main", url: try DestinationURL("https://collector.example/events"))
        settings.batchMaximumEvents = 10
        try change(&settings)
        return settings
    }

    /// `waiting` events of `normal` are there at the start.
    init(
        _ settings: DestinationSettings, waiting: Int = 0, low: UInt64 = 1, seed: UInt64 = 1, allowance: Int = 1 << 23
    ) {
        logs[.normal] = [AcceptContext](repeating: context, count: waiting)
        settled[.normal] = low - 1
        destination = Destination(
            settings: settings,
            positions: [LogPosition(log: .normal, low: low, newest: UInt64(waiting))],
            userAgent: "uplinkd/test", bodyAllowanceBytes: allowance, seed: seed)
    }

    /// Reachable, with nothing queued.
    static func online(_ change: (inout DestinationSettings) throws -> Void = { _ in }) throws -> Scene {
        var scene = Scene(try settings(change))
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable()
        #expect(scene.flights.isEmpty && scene.checksEnded == 1 && scene.proofs == 1)
        return scene
    }

    // MARK: Levers

    mutating func tell(_ event: DeliveryEvent) {
        switch event {
        case .reachable, .pathBack, .attempt: isOpen = true
        case .pathLost: (isOpen, checksToSend) = (false, 0)
        case .checkDue: checksToSend = 1
        default: break
        }
        let effects = destination.handle(event, at: now)
        for effect in effects { take(effect) }
        context = AcceptContext(connectionType: .ethernet, destinations: [("main", destination.gates.current)])
        answerReads()
    }

    mutating func accept(_ count: Int, in log: LogName = .normal, circumstances: AcceptContext? = nil) {
        logs[log, default: []] += [AcceptContext](repeating: circumstances ?? context, count: count)
        tell(.available(log, newest: UInt64(logs[log]?.count ?? 0)))
    }

    /// Lets time pass, handling what falls due on the way.
    mutating func pass(_ span: Duration) {
        let end = now + span
        while let deadline = destination.deadline, deadline <= end {
            #expect(deadline > now, "a deadline in the past would spin")
            now = max(deadline, now)
            tell(.timer)
        }
        now = end
    }

    mutating func answer(
        _ status: Int, _ headers: [HeaderField] = [], at index: Int = 0, verified: Bool = true, body: String? = nil
    ) {
        guard index < flights.count else {
            Issue.record("nothing in flight")
            return
        }
        let flight = flights.remove(at: index)
        if (200...299).contains(status), verified { count(flight) }
        let answer = TransportAnswer(
            status: status, headers: headers, body: Array((body ?? "said \(status)").utf8), isVerifiedPeer: verified)
        tell(.answered(request: flight.request.id, .answer(answer)))
    }

    mutating func fail(_ reason: StateReason, at index: Int = 0) {
        guard index < flights.count else {
            Issue.record("nothing in flight")
            return
        }
        let flight = flights.remove(at: index)
        let failure = TransportFailure(reason: reason, detail: "no answer: \(reason)")
        tell(.answered(request: flight.request.id, .failed(failure)))
    }

    /// Reachability's answer to a proof.
    mutating func becomeReachable(after duration: Duration = .zero, _ cause: Outage.Cause = .start) {
        tell(.reachable(Outage(duration: duration, cause: cause)))
        tell(.connectivity(.open))
    }

    mutating func losePath() {
        tell(.pathLost(givingUpRequest: true))
        tell(.connectivity(.closed))
    }

    /// Answers everything with 200 until nothing is in flight.
    mutating func drain() {
        while !flights.isEmpty { answer(200) }
    }

    /// Puts another in its place, as a reload with other settings does.
    mutating func replace(_ settings: DestinationSettings) {
        tell(.replaced)
        let positions = logs.map { log, contexts in
            LogPosition(log: log, low: (settled[log] ?? 0) + 1, newest: UInt64(contexts.count))
        }
        var successor = Destination(
            settings: settings, positions: positions, userAgent: "uplinkd/test", seed: 2, lastID: 1 << 40)
        successor.takeOver(from: destination)
        destination = successor
        reads = []
        isOpen = false
    }

    // MARK: The world

    mutating func answerReads() {
        while !holdsReads, !reads.isEmpty {
            let read = reads.removeFirst()
            // As the queue does it: from its cursor on where that is further.
            let first = max(read.from, (settled[read.log] ?? 0) + 1)
            tell(.chunk(read: read.id, chunk(read.log, from: first, limit: read.limit)))
        }
        while !letterReads.isEmpty {
            let (id, passage) = letterReads.removeFirst()
            let next = retried.first { one in passage.allows(one.log) && !resolved.contains { $0 == one } }
            tell(.letter(read: id, next.map { .letter(letter($0.log, $0.sequence), attempts: tries(of: $0)) } ?? .none))
        }
        while !burials.isEmpty {
            let burial = burials.removeFirst()
            if case .kept = burialOutcome {
                letters.append(burial.letter)
                retried.removeAll { $0 == (burial.letter.log, burial.letter.sequence) }
            }
            tell(.buried(id: burial.id, burialOutcome))
        }
    }

    private func chunk(_ log: LogName, from: UInt64, limit: Int) -> Chunk? {
        let contexts = logs[log] ?? []
        guard from <= contexts.count else { return nil }
        let last = min(from + UInt64(chunkEvents) - 1, UInt64(contexts.count))
        var bytes: [UInt8] = []
        var records: [Chunk.Record] = []
        var disposed: [Disposition] = []
        for sequence in from...last {
            if damaged[log]?.contains(sequence) ?? false {
                disposed.extend(.quarantined, sequence...sequence)
                continue
            }
            let start = bytes.count
            bytes.append(utf8: "{\"lane\":\"\(log.text)\",\"number\":\(sequence)}")
            records.append(
                Chunk.Record(
                    sequence: sequence, range: start..<bytes.count, acceptedAt: nil, context: Int(sequence - from)))
        }
        return Chunk(
            log: log, epoch: 0xE, sequences: from...last, bytes: bytes, records: records,
            contexts: Array(contexts[Int(from) - 1..<Int(last)]), disposed: disposed)
    }

    private func tries(of letter: (log: LogName, sequence: UInt64)) -> Int {
        letters.last { ($0.log, $0.sequence) == letter }?.refusal.attempts ?? 0
    }

    private func letter(_ log: LogName, _ sequence: UInt64) -> Chunk {
        let event = Array("{\"lane\":\"\(log.text)\",\"number\":\(sequence)}".utf8)
        let record = Chunk.Record(sequence: sequence, range: 0..<event.count, acceptedAt: nil, context: 0)
        return Chunk(
            log: log, epoch: 0xE, sequences: sequence...sequence, bytes: event, records: [record],
            contexts: [AcceptContext(connectionType: .ethernet, destinations: [("main", .destination)])])
    }

    private mutating func take(_ effect: DeliveryEffect) {
        switch effect {
        case .read(let id, let log, let from, let limit): reads.append((id, log, from, limit))
        case .send(let request): send(request)
        case .cancel(let id):
            #expect(flights.contains { $0.request.id == id }, "cancelled what is not in flight")
            flights.removeAll { $0.request.id == id }
        case .settle(let log, let dispositions): settle(log, dispositions)
        case .bury(let id, let log, let sequence, let refusal):
            burials.append((id, Letter(log: log, sequence: sequence, refusal: refusal)))
        case .readLetter(let id, let passage): letterReads.append((id, passage))
        case .resolve(let log, let sequence): resolved.append((log, sequence))
        case .readToken: tokenReads += 1
        case .proved: proofs += 1
        case .failed(let reason, _):
            failures.append(reason)
            isOpen = isOpen && checksAreOff
        case .portal:
            portals += 1
            isOpen = false
        case .checkEnded:
            checksEnded += 1
            checksToSend = 0
        case .gatesChanged: gateChanges += 1
        case .notice(let notice): notices.append(notice)
        }
    }

    /// As the queue does it: what was settled before stays as it was.
    private mutating func settle(_ log: LogName, _ dispositions: [Disposition]) {
        var next = dispositions.first?.sequences.lowerBound ?? 1
        for disposition in dispositions {
            #expect(disposition.sequences.lowerBound == next, "\(log): \(dispositions)")
            next = disposition.sequences.upperBound + 1
            let before = settled[log] ?? 0
            guard next - 1 > before else { continue }
            #expect(disposition.sequences.lowerBound <= before + 1, "\(log): \(dispositions) after \(before)")
            settled[log] = next - 1
            ledgers[log, default: Ledger()].count(next - 1 - before, as: disposition.kind)
        }
    }

    private mutating func send(_ request: OutgoingRequest) {
        #expect(isOpen || checksToSend > 0, "sent what is no check while not reachable")
        checksToSend = isOpen ? checksToSend : 0
        let events = (try? JSONValue(parsing: request.body))?.array ?? []
        let sequences = events.compactMap { event in
            event["event_id"]?.string?.split(separator: "-").last.flatMap { UInt64($0) }
        }
        #expect(sequences.count == events.count && request.isCheck == sequences.isEmpty)
        let log = events.first?["lane"]?.string.flatMap { LogName(text: $0) }
        flights.append(Flight(request: request, at: now, log: log, sequences: sequences))
        sent.append(
            (
                request.isCheck, request.headers.first(named: "Idempotency-Key") ?? "",
                request.headers.first(named: "Uplink-Attempt") ?? ""
            ))
    }

    private mutating func count(_ flight: Flight) {
        for event in (try? JSONValue(parsing: flight.request.body))?.array ?? [] {
            let number = event["number"]?.integer ?? 0
            delivered.append(
                Delivery(
                    log: flight.log ?? .normal, sequence: UInt64(number),
                    wasQueued: event["was_queued"]?.string == "true",
                    reason: event["queue_reason"]?.string))
        }
    }
}

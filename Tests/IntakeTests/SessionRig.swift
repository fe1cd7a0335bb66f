import Bytes
import Gates
import Intake
import Queue
import Reachability
import Time

let context = AcceptContext(connectionType: .ethernet, closed: [])
let epoch: UInt64 = 0xABCD
let noneRecent = RecentEvents(seed: KeyedHash.Seed(low: 1, high: 2))

/// Admission with a disk that does what the test says.
final class SessionRig {
    let admission: Admission
    var limits = IntakeLimits()
    var turn: SessionTurn
    private(set) var stored: [(log: LogName, event: String)] = []
    /// The time to live of each event stored, in seconds.
    private(set) var timesToLive: [UInt32] = []
    /// The key of each.
    private(set) var keys: [DuplicateKey] = []
    private var next: [LogName: UInt64] = [:]

    init(_ limits: IntakeLimits = IntakeLimits(), recent: RecentEvents = noneRecent) {
        admission = Admission(context: context, recent: recent)
        self.limits = limits
        turn = SessionTurn(admission: admission, limits: limits)
        turn.acceptedAt = WallTime(milliseconds: 1_000)
    }

    /// What the turn has to say, taken out.
    func output() -> String {
        defer { turn.output = [] }
        return turn.output.text
    }

    /// Seals what is open and says that it is durable; nil where nothing was open.
    func commit() -> Settlement? {
        guard admission.hasEvents else { return nil }
        let (ordinal, batches) = admission.seal()
        let outcomes = batches.map { batch -> BatchOutcome in
            for event in events(of: batch) { stored.append((batch.log, event)) }
            var at = 0
            for length in batch.lengths {
                let words = [32, 40].map { batch.records.loadLittleEndian(at: at + $0, as: UInt64.self) }
                timesToLive.append(batch.records.loadLittleEndian(at: at + 24, as: UInt32.self))
                keys.append(DuplicateKey(low: words[0], high: words[1]))
                at += RecordLayout.size(ofEvent: Int(length))
            }
            let first = next[batch.log, default: 1]
            next[batch.log] = first + UInt64(batch.count)
            return .durable(epoch: epoch, first: first)
        }
        return admission.settle(ordinal: ordinal, outcomes)
    }

    /// Seals what is open and says that the queue refused it.
    func refuse(_ refusal: Refusal) -> Settlement? {
        guard admission.hasEvents else { return nil }
        let (ordinal, batches) = admission.seal()
        return admission.settle(ordinal: ordinal, batches.map { _ in .refused(refusal) })
    }
}

/// The events in a batch's records.
func events(of batch: OpenBatch) -> [String] {
    var at = 0
    return batch.lengths.map { length in
        let start = at + RecordLayout.headerSize
        at += RecordLayout.size(ofEvent: Int(length))
        return Array(batch.records[start..<start + Int(length)]).text
    }
}

/// A newline JSON session, fed piece by piece.
struct LineClient {
    let rig: SessionRig
    var session: LineSession
    private var waiting: [UInt8] = []
    private(set) var pause = SessionPause.needsInput

    init(_ rig: SessionRig) {
        self.rig = rig
        session = LineSession(limits: rig.limits)
    }

    mutating func feed(_ bytes: [UInt8], hasEnded: Bool = false) -> String {
        waiting += bytes
        let input = waiting
        let (taken, pause) = session.receive(input.span, hasEnded: hasEnded, &rig.turn)
        self.pause = pause
        waiting.dropPrefix(taken)
        return rig.output()
    }

    mutating func feed(_ text: String, hasEnded: Bool = false) -> String { feed(Array(text.utf8), hasEnded: hasEnded) }

    mutating func settle(_ settlement: Settlement?) -> String {
        if let settlement { session.settle(settlement, &rig.turn) }
        return rig.output()
    }

    var held: Int { waiting.count }
}

/// An HTTP session, fed piece by piece.
struct HTTPClient {
    let rig: SessionRig
    var session = HTTPSession()
    private var waiting: [UInt8] = []

    init(_ rig: SessionRig) { self.rig = rig }

    mutating func feed(_ bytes: [UInt8], hasEnded: Bool = false) -> String {
        waiting += bytes
        let input = waiting
        waiting.dropPrefix(session.receive(input.span, hasEnded: hasEnded, &rig.turn).taken)
        return rig.output()
    }

    mutating func feed(_ text: String, hasEnded: Bool = false) -> String { feed(Array(text.utf8), hasEnded: hasEnded) }

    mutating func settle(_ settlement: Settlement?) -> String {
        if let settlement { session.settle(settlement, &rig.turn) }
        return rig.output()
    }
}

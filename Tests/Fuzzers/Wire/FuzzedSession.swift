import Bytes
import Gates
import Intake
import JSONReference
import Queue
import Reachability

/// A connection to the events socket: of the same bytes, whole and in pieces, the same events are stored.
enum FuzzedSession {
    private protocol Session {
        mutating func receive(
            _ input: Span<UInt8>, hasEnded: Bool, _ turn: inout SessionTurn
        ) -> (taken: Int, pause: SessionPause)
        mutating func settle(_ settlement: Settlement, _ turn: inout SessionTurn)
    }

    private struct Lines: Session {
        var session: LineSession

        mutating func receive(
            _ input: Span<UInt8>, hasEnded: Bool, _ turn: inout SessionTurn
        ) -> (taken: Int, pause: SessionPause) { session.receive(input, hasEnded: hasEnded, &turn) }
        mutating func settle(_ settlement: Settlement, _ turn: inout SessionTurn) { session.settle(settlement, &turn) }
    }

    private struct HTTP: Session {
        var session = HTTPSession()

        mutating func receive(
            _ input: Span<UInt8>, hasEnded: Bool, _ turn: inout SessionTurn
        ) -> (taken: Int, pause: SessionPause) { session.receive(input, hasEnded: hasEnded, &turn) }
        mutating func settle(_ settlement: Settlement, _ turn: inout SessionTurn) { session.settle(settlement, &turn) }
    }

    static func run(_ first: UInt8, _ input: [UInt8]) {
        guard let letter = input.first else { return }
        var limits = IntakeLimits()
        limits.maximumEventBytes = 256
        limits.maximumRequestBytes = 1_024
        let isHTTP = letter | 0x20 >= 0x61 && letter | 0x20 <= 0x7A
        func events(_ source: Pieces) -> [LogName: [String]] {
            isHTTP
                ? stored(HTTP(), source, limits)
                : stored(Lines(session: LineSession(limits: limits)), source, limits)
        }
        let whole = events(Pieces(whole: input))
        let pieces = events(Pieces(input, steeredBy: first))
        precondition(whole == pieces, "whole \(whole), in pieces \(pieces)")
        for event in whole.values.joined() { precondition(event.utf8.count <= limits.maximumEventBytes) }
    }

    /// The events taken by each log, in order, which a commit keeps within a log only; all are found durable at once.
    private static func stored(
        _ session: consuming some Session, _ source: Pieces, _ limits: IntakeLimits
    ) -> [LogName: [String]] {
        var (session, source) = (session, source)
        let admission = Admission(
            context: AcceptContext(connectionType: .ethernet, closed: []),
            recent: RecentEvents(seed: KeyedHash.Seed(low: 1, high: 2)))
        var turn = SessionTurn(admission: admission, limits: limits)
        var (waiting, stored): ([UInt8], [LogName: [String]]) = ([], [:])
        var isWhole = false
        repeat {
            isWhole = !source.next(into: &waiting)
            while true {
                let (taken, pause) = session.receive(waiting.span, hasEnded: isWhole, &turn)
                precondition(taken <= waiting.count)
                waiting.removeFirst(taken)
                turn.output = []
                if admission.hasEvents {
                    let (ordinal, batches) = admission.seal()
                    for batch in batches { stored[batch.log, default: []] += events(of: batch) }
                    let outcome = BatchOutcome.durable(epoch: 1, first: UInt64(stored.values.joined().count + 1))
                    session.settle(Settlement(ordinal: ordinal, outcomes: batches.map { _ in outcome }), &turn)
                    turn.output = []
                } else {
                    precondition(pause != .admissionFull && pause != .answersFull, "it waits for nothing")
                }
                if pause == .needsInput { break }
            }
        } while !isWhole
        return stored
    }

    private static func events(of batch: OpenBatch) -> [String] {
        var at = 0
        return batch.lengths.map { length in
            let start = at + RecordLayout.headerSize
            at += RecordLayout.size(ofEvent: Int(length))
            let event = Array(batch.records[start..<start + Int(length)])
            precondition(ReferenceParser.accepts(event) && event.first == 0x7B)
            return event.text
        }
    }
}

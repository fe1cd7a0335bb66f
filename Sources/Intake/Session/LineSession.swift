internal import Bytes
internal import JSON
internal import Queue

/// A connection that posts newline JSON: an object a line, cumulative counts back; pure.
package struct LineSession {
    private var reader: LineReader
    private var answers = LineAnswers()
    /// The number of the line that comes next, from 1.
    private var line: UInt64 = 1
    /// Events appended, and events told to be accepted.
    private var taken: UInt64 = 0
    private var told: UInt64 = 0
    private var ends = false

    /// A session at the first byte of a connection.
    package init(limits: IntakeLimits) {
        let lineBytes = limits.lineBytes
        reader = LineReader(lineBytes: lineBytes, endlessBytes: max(lineBytes, limits.maximumRequestBytes))
    }

    /// All answers were given and the connection is to be closed once they are sent.
    package var isFinished: Bool { ends && answers.isEmpty }

    /// Events wait for a commit.
    package var isWaiting: Bool { !answers.isEmpty }

    /// Takes what it can of the input; how many bytes it took, and why no more.
    ///
    /// What was not taken is given again, with more behind it or without.
    package mutating func receive(
        _ input: Span<UInt8>, hasEnded: Bool, _ turn: inout SessionTurn
    ) -> (taken: Int, pause: SessionPause) {
        guard !ends else { return (input.count, .needsInput) }
        var at = 0
        var run = Run()
        var pause: SessionPause?
        let refusal = turn.admission.refusal(for: .normal)
        scan: while true {
            pause = turn.pause(answersFull: answers.isFull)
            guard pause == nil else { break }
            switch reader.next(in: input, from: at, hasEnded: hasEnded) {
            case .line(let range, let next):
                take(input, range, refusal, &run, &turn)
                at = next
            case .tooLong(let next):
                fail(status: 413, detail: Self.tooLong(turn.limits), &run, &turn)
                at = next
            case .endless:
                fail(status: 413, detail: Self.tooLong(turn.limits), &run, &turn)
                ends = true
            case .incomplete(let kept):
                at = kept
                if hasEnded { ends = true }
                break scan
            }
            line += 1
            if ends {
                at = input.count
                break
            }
        }
        run.flush(to: &answers, total: taken)
        return (at, pause ?? .needsInput)
    }

    /// Writes what a commit has settled.
    package mutating func settle(_ settlement: Settlement, _ turn: inout SessionTurn) {
        let before = told
        if let (refusal, line) = answers.settle(settlement, total: &told, to: &turn.output) {
            refuse(refusal, line: line, &turn)
        }
        turn.accepted += told - before
    }

    /// Takes no more, says why, and ends once what was taken is answered.
    package mutating func stop(_ refusal: Refusal, _ turn: inout SessionTurn) {
        guard !ends else { return }
        refuse(refusal, line: line, &turn)
    }

    /// Ends a connection whose unfinished line has waited too long.
    package mutating func expire(_ turn: inout SessionTurn) {
        guard !ends else { return }
        var run = Run()
        fail(status: 408, detail: "the rest of the line did not come in time", &run, &turn)
        ends = true
    }

    /// Events of one call that were not yet noted.
    private struct Run {
        var first: Position?
        var line: UInt64 = 0

        mutating func flush(to answers: inout LineAnswers, total: UInt64) {
            if let first { answers.add(first: first, line: line, total: total) }
            first = nil
        }
    }

    private mutating func take(
        _ input: Span<UInt8>, _ range: Range<Int>, _ refusal: Refusal?, _ run: inout Run, _ turn: inout SessionTurn
    ) {
        let text = input.extracting(range)
        let extent: JSONExtent
        do throws(JSONError) {
            extent = try JSONScanner.document(text)
        } catch {
            if JSONScanner.skipWhitespace(in: text, from: 0) == text.count { return }
            if let refusal { return end(refusal, &run, &turn) }
            return fail(status: 400, detail: "\(error.detail) at byte \(error.offset)", &run, &turn)
        }
        if let refusal { return end(refusal, &run, &turn) }
        guard extent.kind == .object else {
            return fail(status: 400, detail: "not a JSON object", &run, &turn)
        }
        guard extent.range.count <= turn.limits.maximumEventBytes else {
            return fail(status: 413, detail: Self.tooLong(turn.limits), &run, &turn)
        }
        let position = turn.admission.append(
            text.extracting(extent.range), to: .normal, acceptedAt: turn.acceptedAt)
        if run.first == nil {
            run.first = position
            run.line = line
        }
        taken += 1
    }

    private mutating func end(_ refusal: Refusal, _ run: inout Run, _ turn: inout SessionTurn) {
        run.flush(to: &answers, total: taken)
        refuse(refusal, line: line, &turn)
    }

    private mutating func refuse(_ refusal: Refusal, line: UInt64, _ turn: inout SessionTurn) {
        let error = LineError.bytes(
            line: line, status: 503, detail: refusal.detail, retryAfterSeconds: refusal.retryAfterSeconds)
        answers.add(error: error, to: &turn.output)
        turn.refused += 1
        ends = true
    }

    private mutating func fail(status: Int, detail: String, _ run: inout Run, _ turn: inout SessionTurn) {
        run.flush(to: &answers, total: taken)
        answers.add(error: LineError.bytes(line: line, status: status, detail: detail), to: &turn.output)
        turn.refused += 1
    }

    private static func tooLong(_ limits: IntakeLimits) -> String {
        "an event has at most \(limits.maximumEventBytes) bytes"
    }
}

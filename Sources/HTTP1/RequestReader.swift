internal import Bytes

/// Takes whole requests, head and body, off growing input.
package struct RequestReader: Sendable {
    /// What the input holds.
    package enum Outcome: Sendable {
        /// More is needed.
        case incomplete
        /// More is needed, and the client waits for `100 Continue`; said once a request.
        case continueExpected
        case request(RequestHead, body: [UInt8])
    }

    private enum State: Sendable {
        case head
        case length(RequestHead, Int)
        case chunked(RequestHead, ChunkedDecoder)
    }

    private var parser = RequestHeadParser()
    private var state = State.head
    private var body: [UInt8] = []
    private let bodyLimit: Int

    /// A reader that throws `bodyTooLarge` for a body of more than `bodyLimit` bytes, before it is read where possible.
    package init(bodyLimit: Int) { self.bodyLimit = bodyLimit }

    /// True between requests.
    package var isBetweenRequests: Bool {
        if case .head = state { true } else { false }
    }

    /// Takes what can be taken of the input from `start`; the count of bytes taken, and what came of them.
    ///
    /// What was not taken is given again with more behind it. After a request it is ready for the next.
    package mutating func next(
        _ input: Span<UInt8>, from start: Int
    ) throws(HTTPError) -> (taken: Int, outcome: Outcome) {
        var at = start
        if case .head = state {
            while at + 1 < input.count, input[at] == 0x0D, input[at + 1] == 0x0A { at += 2 }
            // The parser would take the first half of an empty line for the begin of the head.
            if at + 1 == input.count, input[at] == 0x0D { return (at - start, .incomplete) }
            guard let (head, count) = try parser.parse(input, from: at) else { return (at - start, .incomplete) }
            at += count
            try begin(head)
            if head.expectsContinue, head.framing != .none, at == input.count {
                return (at - start, .continueExpected)
            }
        }
        switch state {
        case .head: break
        case .length(let head, let length):
            let taken = min(length - body.count, input.count - at)
            body.append(contentsOf: input.extracting(at..<at + taken))
            at += taken
            if body.count == length { return (at - start, finish(head)) }
        case .chunked(let head, var decoder):
            at += try decoder.decode(input, from: at, into: &body)
            state = .chunked(head, decoder)
            if decoder.isComplete { return (at - start, finish(head)) }
        }
        return (at - start, .incomplete)
    }

    private mutating func begin(_ head: RequestHead) throws(HTTPError) {
        switch head.framing {
        case .length(let length):
            guard length <= bodyLimit else { throw .bodyTooLarge }
            state = .length(head, length)
        case .chunked: state = .chunked(head, ChunkedDecoder(limit: bodyLimit))
        case .none, .untilClose: state = .length(head, 0)
        }
    }

    private mutating func finish(_ head: RequestHead) -> Outcome {
        let whole = body
        body = []
        state = .head
        return .request(head, body: whole)
    }
}

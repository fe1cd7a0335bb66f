internal import Bytes
internal import HTTP1

/// A `POST /v1/events` whose head was taken, and what came of its body so far.
struct EventRequest {
    enum Made {
        case taken(EventRequest)
        case refused(Response)
    }

    let parameters: EventParameters
    let form: BodyForm
    let keepsAlive: Bool
    /// What the client calls the request; nil where it gave it no name.
    let idempotencyKey: [UInt8]?
    /// The body, while it comes in pieces.
    private(set) var body: [UInt8] = []
    private let length: Int
    private var chunks: ChunkedDecoder?

    /// Checks all that the head says.
    static func make(_ head: RequestHead, _ turn: borrowing SessionTurn) -> Made {
        if head.fields["expect"] != nil, !head.fields.list("expect", has: "100-continue") {
            return .refused(Problems.expectation())
        }
        if head.fields["content-encoding"] != nil {
            return .refused(Problems.mediaType("a Content-Encoding is not taken"))
        }
        let contentType = head.fields["content-type"]
        guard let form = BodyForm(contentType: contentType) else {
            return .refused(Problems.mediaType("\((contentType ?? []).text) is not taken"))
        }
        let parameters: EventParameters
        do throws(ParameterError) {
            parameters = try EventParameters(head)
        } catch {
            return .refused(Problems.parameter(error.detail))
        }
        let limit = turn.limits.maximumRequestBytes
        if case .length(let count) = head.framing, count > limit {
            return .refused(Problems.requestTooLarge(turn.limits))
        }
        let keys = head.fields.values("idempotency-key")
        guard keys.count <= 1, keys.first?.isEmpty != true else {
            return .refused(Problems.idempotencyKey("Idempotency-Key stands there empty or twice"))
        }
        if let refusal = turn.admission.refusal(for: parameters.log) { return .refused(Problems.refused(refusal)) }
        return .taken(EventRequest(head, parameters, form: form, limit: limit))
    }

    private init(_ head: RequestHead, _ parameters: EventParameters, form: BodyForm, limit: Int) {
        self.parameters = parameters
        self.form = form
        keepsAlive = head.keepsAlive
        idempotencyKey = head.fields["idempotency-key"]
        switch head.framing {
        case .length(let count): length = count
        case .chunked:
            length = 0
            chunks = ChunkedDecoder(limit: limit)
        case .none, .untilClose: length = 0
        }
    }

    /// The body was collected whole.
    var isComplete: Bool { chunks?.isComplete ?? (body.count == length) }

    /// Where the whole body stands in the input; nil where it must be collected.
    func wholeBody(in input: Span<UInt8>, _ at: Int) -> Range<Int>? {
        guard chunks == nil, body.isEmpty, input.count - at >= length else { return nil }
        return at..<at + length
    }

    /// Takes what belongs to the body off the input; how many bytes of it.
    mutating func collect(_ input: Span<UInt8>, from start: Int) throws(HTTPError) -> Int {
        if chunks != nil { return try chunks?.decode(input, from: start, into: &body) ?? 0 }
        let taken = min(length - body.count, input.count - start)
        if body.isEmpty, taken > 0 { body.reserveCapacity(length) }
        body.append(contentsOf: input.extracting(start..<start + taken))
        return taken
    }
}

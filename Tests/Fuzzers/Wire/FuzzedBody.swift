import HTTP1

/// Chunked bodies, request behind request: the same comes of them whole and in pieces.
enum FuzzedBody {
    private static let head = Array("POST /v1/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
    private static let limit = 1_024

    static func run(_ first: UInt8, _ input: [UInt8]) {
        let whole = bodies(Pieces(whole: head + input))
        let pieces = bodies(Pieces(head + input, steeredBy: first))
        precondition(whole == pieces, "whole \(whole), in pieces \(pieces)")
        for body in whole { precondition((body?.count ?? 0) <= limit) }
    }

    /// Those of the requests that are complete; nil last where what follows is refused.
    private static func bodies(_ source: Pieces) -> [[UInt8]?] {
        var source = source
        var reader = RequestReader(bodyLimit: limit)
        var waiting: [UInt8] = []
        var bodies: [[UInt8]?] = []
        while source.next(into: &waiting) {
            while true {
                do throws(HTTPError) {
                    let (taken, outcome) = try reader.next(waiting.span, from: 0)
                    precondition(taken <= waiting.count)
                    waiting.removeFirst(taken)
                    guard case .request(_, let body) = outcome else {
                        // What tells a client to go on asks for nothing.
                        if case .continueExpected = outcome { continue }
                        break
                    }
                    bodies.append(body)
                } catch {
                    return bodies + [nil]
                }
            }
        }
        return bodies
    }
}

import HTTP1

/// Heads of requests and of responses: the same is understood of them whole and in pieces.
enum FuzzedHead {
    static func run(_ first: UInt8, _ input: [UInt8]) {
        let whole = request(Pieces(whole: input))
        let pieces = request(Pieces(input, steeredBy: first))
        precondition(whole == pieces, "whole \(whole), in pieces \(pieces)")
        precondition(response(Pieces(whole: input)) == response(Pieces(input, steeredBy: first)))
    }

    private static func request(_ source: Pieces) -> String {
        var parser = RequestHeadParser()
        return understood(source) { (input) throws(HTTPError) in
            guard let (head, count) = try parser.parse(input, from: 0) else { return nil }
            precondition(count > 0 && count <= input.count)
            precondition(!head.method.isEmpty && (head.path == "*" || head.path.utf8.first == 0x2F))
            let line = "\(head.method) \(head.path) \(head.queryParameters().map { "\($0)" } ?? "none")"
            return "\(count) \(line) \(head.framing) \(head.keepsAlive) \(list(head.fields))"
        }
    }

    private static func response(_ source: Pieces) -> String {
        var parser = ResponseHeadParser()
        return understood(source) { (input) throws(HTTPError) in
            guard let (head, count) = try parser.parse(input, from: 0) else { return nil }
            precondition((100...999).contains(head.status))
            return "\(count) \(head.status) \(head.reason) \(head.framing) \(list(head.fields))"
        }
    }

    private static func understood(
        _ source: Pieces, _ parse: (Span<UInt8>) throws(HTTPError) -> String?
    ) -> String {
        var source = source
        var waiting: [UInt8] = []
        while source.next(into: &waiting) {
            do throws(HTTPError) {
                if let head = try parse(waiting.span) { return head }
            } catch {
                return "refused"
            }
        }
        return "incomplete"
    }

    private static func list(_ fields: HTTPFields) -> String {
        (0..<fields.count).map { "\(fields.name(at: $0)): \(fields.value(at: $0))" }.joined(separator: "\n")
    }
}
